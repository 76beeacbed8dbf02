"""Kernels of a session, as JupyterLab talks to them: through the proxy, over a WebSocket."""

import json
from typing import Any

import websocket  # of jupyter_server's dependencies


class Kernel:
    """A new kernel of `user`'s session on `hub` (a `tests.cluster.hub.Hub`), and the connection of one page to it."""

    def __init__(self, hub: Any, user: str, name: str = "") -> None:
        self.id = hub.notebook(user, "api/kernels", name=name, method="POST", json={"name": "python3"}).json()["id"]
        token = hub.api("POST", f"users/{user}/tokens", json={"note": "kernel"}).json()["token"]
        server = f"{name}/" if name else ""
        url = f"{hub.url}/user/{user}/{server}api/kernels/{self.id}/channels".replace("http", "ws", 1)
        self.channel = websocket.create_connection(url, header={"Authorization": f"token {token}"}, timeout=60)
        self.sent = 0

    def send(self, code: str) -> str:
        """Begin to execute; the message's id."""
        self.sent += 1
        header = {
            "msg_id": f"{self.id}-{self.sent}", "msg_type": "execute_request", "session": self.id, "username": "",
            "version": "5.3",
        }  # fmt: skip
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        self.channel.send(json.dumps(message))
        return str(header["msg_id"])

    def run(self, code: str) -> str:
        """What `code` prints, when it is done. An AssertionError for an exception in it."""
        sent, text = self.send(code), ""
        while True:
            message = json.loads(self.channel.recv())
            if message["parent_header"].get("msg_id") != sent:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                text += content["text"]
            if message["msg_type"] == "error":
                raise AssertionError(content)
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return text

    def begun(self, code: str, printed: str = "") -> None:
        """Begin to execute, and return when the kernel is busy with it, or has printed that."""
        sent = self.send(code)
        while True:
            message = json.loads(self.channel.recv())
            content = message["content"]
            seen = printed in content.get("text", "") if printed else content.get("execution_state") == "busy"
            if message["parent_header"].get("msg_id") == sent and seen:
                return

    def close(self) -> None:
        self.channel.close()


def run_code(hub: Any, user: str, code: str, name: str = "") -> str:
    """What `code` prints in a new kernel."""
    kernel = Kernel(hub, user, name)
    try:
        return kernel.run(code)
    finally:
        kernel.close()
