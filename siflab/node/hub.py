"""The Hub's side of the exchange, as the job sees it: claim, ready, failed, ended.

Each is a POST of JSON to ``<claim_url>/<verb>``, with user, server, code and claimant. The claimant is a word that this
shim made up: the Hub knows by it that a repeated request comes from the same one, since an answer can get lost. The
code's holder is who the Hub believes; there is no cookie and no token.
"""

import binascii
import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.request

from .words import Words, log

PATIENCE = 960.0  # seconds: longer than the 15 minutes for which a Hub may be away
_LAST_WORD = 20.0  # seconds in which `failed` and `ended` must have got through: Slurm tells the Hub as well
_TIMEOUT = 20.0  # seconds for one request
_FINAL = (400, 401, 403)
_SOON = (408, 409, 429)  # the Hub is there, but not ready for this request
_ANSWER_LIMIT = 8 << 20
_TAIL_LIMIT = 4096  # bytes of log in `failed`


class Refused(Exception):
    """The Hub's final no; its argument is the Hub's Words."""


class Away(Exception):
    """The Hub did not answer for too long; its argument is what was seen last."""


class Hub(object):
    """`config` has claim_url, ca (PEM or None), user, server and code. `pause` and `longest_pause` in seconds."""

    def __init__(self, config, patience=PATIENCE, pause=0.25, longest_pause=5.0):
        self.url = config["claim_url"].rstrip("/")
        self.patience, self.pause, self.longest_pause = patience, pause, longest_pause
        self._who = {name: config[name] for name in ("user", "server", "code")}
        self._who["claimant"] = binascii.hexlify(os.urandom(16)).decode("ascii")
        # the nodes' proxy settings are for the world outside, and a redirect would turn the POST into a GET
        handlers = [urllib.request.ProxyHandler({}), _NoRedirect()]
        if self.url.startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cadata=config.get("ca"))))
        self._opener = urllib.request.build_opener(*handlers)

    def claim(self, port, job_id, node):
        """What this session runs with: env, argv, files, session, site. Raises Refused or Away."""
        answer = self._persist("claim", {"port": port, "job_id": job_id, "node": node}, self.patience)
        if not isinstance(answer.get("argv"), list) or not answer["argv"] or not isinstance(answer.get("env"), dict):
            raise Refused(
                Words(
                    "the Hub's answer has no command or no environment: its Siflab is of another version",
                    "Hub 的回答缺少命令或环境变量：其 Siflab 版本不一致",
                )
            )
        return answer

    def ready(self, port, wanted):
        """Our own child listens on the port: from now on there may be a route. False when it gave up because `wanted()`
        no longer holds. Raises Refused or Away."""
        return self._persist("ready", {"port": port}, self.patience, wanted) is not None

    def failed(self, exit_code, message, log_tail):
        """Why this job ends. Raises nothing: the Hub finds out from Slurm, too."""
        self._say("failed", {"exit_code": exit_code, "message": message._asdict(), "log_tail": plain(log_tail)})

    def ended(self, exit_code, job_id):
        """The server that was ready ended, or is being ended; when this returns the Hub has no route to it any more, or
        could not be told. Raises nothing."""
        self._say("ended", {"exit_code": exit_code, "job_id": job_id})

    def _say(self, verb, fields):
        try:
            self._persist(verb, fields, min(_LAST_WORD, self.patience))
        except (Refused, Away) as error:
            log("the Hub could not be told: %s" % (error,))

    def _persist(self, verb, fields, patience, wanted=lambda: True):
        """The answer, asking again until it comes; None when it is no longer wanted. Trouble is logged when it changes,
        not at each try."""
        until, pause, trouble = time.monotonic() + patience, self.pause, None
        while wanted():
            try:
                answer = self._post(verb, fields)
                if trouble:
                    log("the Hub answers again")
                return answer
            except urllib.error.HTTPError as error:
                words = _message_of(error)
                if error.code in _FINAL:
                    raise Refused(words)
                found = "the Hub says %d to %s: %s" % (error.code, verb, words.en)
                if error.code in _SOON:
                    pause = self.pause
            except (OSError, http.client.HTTPException, ValueError) as error:
                found = "the Hub does not answer to %s: %s" % (verb, getattr(error, "reason", None) or error)
            if found != trouble:
                log(found + "; asking again")
                trouble = found
            if time.monotonic() + pause > until:
                raise Away(found)
            time.sleep(pause)
            pause = min(2 * pause, self.longest_pause)
        return None

    def _post(self, verb, fields):
        body = json.dumps(dict(self._who, **fields), ensure_ascii=False).encode("utf-8", "replace")
        request = urllib.request.Request(
            "%s/%s" % (self.url, verb), data=body, headers={"Content-Type": "application/json"}, method="POST"
        )
        with self._opener.open(request, timeout=_TIMEOUT) as response:
            data = response.read(_ANSWER_LIMIT)
        answer = json.loads(data.decode("utf-8")) if data else {}
        if not isinstance(answer, dict):
            raise ValueError("the answer is no JSON object")
        return answer


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def plain(data):
    """The end of a log, as text without control characters: JSON would blow each up to six bytes."""
    text = data[-_TAIL_LIMIT:].decode("utf-8", "ignore")
    return "".join(character for character in text if character in "\n\t" or character.isprintable())


def _message_of(error):
    """The Words in an error's body: ours has both languages, JupyterHub's own one string."""
    try:
        message = json.loads(error.read(65536).decode("utf-8"))["message"]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        message = str(error.reason)
    if isinstance(message, dict):
        return Words(str(message.get("en", "")), str(message.get("zh", "")))
    return Words(str(message), str(message))
