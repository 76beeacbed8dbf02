"""A Hub that knows no more than the four routes of a session's job, on this machine."""

import http.server
import json
import queue
import socket
import threading


class FakeHub(http.server.ThreadingHTTPServer):
    """Requests are kept in `seen` as (verb, body), and come one after the other out of `next()`.

    `plans[verb]` holds what to do with the next requests of that verb: a status, or "drop" (take it, then close the
    connection without an answer), or "steal" (answer, but listen on the claimed port oneself). When the plan is used up
    a claim is answered with `answer`, the others with 204. It refuses connections until `listen()`.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.server_bind()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hub/api/siflab"
        self.answer = {}
        self.plans = {"claim": [], "ready": [], "failed": [], "ended": []}
        self.gate = None  # `ended` is answered when this event is set
        self.seen = []
        self.thieves = []
        self._arrived = queue.Queue()

    def listen(self):
        self.server_activate()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def close(self):
        if self.socket.fileno() != -1 and self._listens():
            self.shutdown()
        self.server_close()
        for thief in self.thieves:
            thief.close()

    def next(self, timeout=20):
        """The next request: (verb, body)."""
        return self._arrived.get(timeout=timeout)

    def bodies(self, verb):
        return [body for seen, body in self.seen if seen == verb]

    def arrive(self, verb, body):
        self.seen.append((verb, body))
        plan = self.plans[verb].pop(0) if self.plans[verb] else None
        if plan == "steal":
            self.thieves.append(listener_on(body["port"]))
        self._arrived.put((verb, body))
        return plan

    def _listens(self):
        return bool(self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))

    def handle_error(self, request, client_address):
        pass


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        verb = self.path.rpartition("/")[2]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8"))
        plan = self.server.arrive(verb, body)
        if plan == "drop":
            self.close_connection = True
            return
        if isinstance(plan, int):
            self.reply(plan, {"message": {"en": f"no, because {plan}", "zh": f"拒绝 {plan}"}})
        elif verb == "claim":
            answer = dict(self.server.answer)
            answer["env"] = {
                "JUPYTERHUB_SERVICE_URL": f"http://127.0.0.1:{body['port']}/user/user1/",
                **answer.get("env", {}),
            }
            self.reply(200, answer)
        else:
            if verb == "ended" and self.server.gate is not None:
                self.server.gate.wait(20)
            self.reply(204, None)

    def reply(self, status, body):
        self.send_response(status)
        self.end_headers()
        if body is not None:
            self.wfile.write(json.dumps(body).encode("utf-8"))

    def log_message(self, *_):
        pass


def listener_on(port, address="127.0.0.1"):
    """A socket of this process that listens on the port, as another user's could."""
    thief = socket.socket()
    thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    thief.bind((address, port))
    thief.listen(1)
    return thief
