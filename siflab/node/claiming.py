"""The claim: how the job gets what it runs with from the Hub, which may be away for a while."""

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request

PATIENCE = 15 * 60  # seconds for which a Hub may be away
REFUSED = 41  # exit codes of the shim
HUB_AWAY = 42


class ClaimError(Exception):
    """The claim failed for good; `code` is the exit code."""

    def __init__(self, code, words):
        Exception.__init__(self, words)
        self.code = code


def say(words):
    """One line into the job's log."""
    print("siflab: %s" % words, flush=True)


class Hub(object):
    """The Hub's claim routes. `config` is what the job's script carries."""

    def __init__(self, config, patience=PATIENCE, pause=1.0):
        self.config, self.patience, self.pause = config, patience, pause
        self.context = ssl.create_default_context(cadata=config["ca"]) if config.get("ca") else None
        self.last_words = ""

    def claim(self, claimant, port, job_id, node):
        """The answer to the claim. Raises ClaimError."""
        return self._persist("claim", claimant, {"port": port, "job_id": job_id, "node": node})

    def ready(self, claimant, port):
        """Tell that the server listens; only now the Hub makes a route. Raises ClaimError."""
        self._persist("ready", claimant, {"port": port})

    def failed(self, claimant, exit_code, message, log_tail):
        """Tell why the session does not start. One try: the job ends anyway and the Hub sees that from Slurm."""
        body = {"exit_code": exit_code, "message": message[:2000], "log_tail": log_tail[-8000:]}
        try:
            self._post("failed", claimant, body, timeout=5)
        except (OSError, http.client.HTTPException) as error:
            say("could not tell the Hub why: %s" % error)

    def _persist(self, route, claimant, fields):
        give_up, pause = time.time() + self.patience, self.pause
        while True:
            try:
                return self._post(route, claimant, fields)
            except urllib.error.HTTPError as error:
                words = _message(error)
                if error.code == 409:
                    pause = self.pause / 2
                elif error.code < 500:
                    raise ClaimError(REFUSED, "the Hub refused this session (%d): %s" % (error.code, words))
                self._once("the Hub says %d (%s), trying again" % (error.code, words))
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._once("the Hub cannot be reached (%s), trying again" % error)
            if time.time() > give_up:
                raise ClaimError(
                    HUB_AWAY, "the Hub could not be reached for %d minutes; start again" % (self.patience // 60)
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 15 * self.pause)

    def _post(self, route, claimant, fields, timeout=20):
        body = {name: self.config[name] for name in ("user", "server", "code")}
        body.update(fields, claimant=claimant)
        request = urllib.request.Request(
            self.config["claim_url"].rstrip("/") + "/" + route,
            data=json.dumps(body).encode("utf-8"),
            headers={"Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.context)
        )
        with opener.open(request, timeout=timeout) as answer:
            data = answer.read()
        return json.loads(data.decode("utf-8")) if data else None

    def _once(self, words):
        if words != self.last_words:
            say(words)
        self.last_words = words


def _message(error):
    try:
        message = json.loads(error.read(8192).decode("utf-8")).get("message", "")
        return message.get("en", "") if isinstance(message, dict) else str(message)
    except (OSError, ValueError, AttributeError):
        return str(error.reason)
