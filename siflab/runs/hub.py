"""Asking the Hub about the session that this process runs in, with the session's own token."""

import json
import os
import ssl
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

from siflab.errors import Conflict, FieldError, Internal, Invalid, NotFound, SiflabError, SlurmRefused, SlurmUnreachable
from siflab.text import Text

_LIMIT = 1 << 20  # bytes of an answer
_KINDS: dict[str, type[SiflabError]] = {
    kind.code: kind for kind in (NotFound, Conflict, SlurmRefused, SlurmUnreachable, Internal)
}


class HubUnreachable(SlurmUnreachable):
    """The Hub did not answer, or not in a way that can be read."""

    code = "hub-unreachable"


def ask_hub(what: str, body: dict[str, Any] | None = None, timeout: float = 60.0) -> dict[str, Any]:
    """The answer to ``GET`` (or with `body` ``POST``) ``.../siflab/sessions/[SERVER/]<what>``. Raises the SiflabError
    that the Hub answers with, or HubUnreachable. `timeout` in seconds."""
    base, token = os.environ.get("JUPYTERHUB_API_URL"), os.environ.get("JUPYTERHUB_API_TOKEN")
    if not base or not token:
        raise NotFound(
            Text(
                "This is no session of a JupyterHub; nothing is known of its time.",
                "此处不是 JupyterHub 会话，无法得知其时间。",
            )
        )
    server = os.environ.get("JUPYTERHUB_SERVER_NAME", "")
    url = f"{base.rstrip('/')}/siflab/sessions/{quote(server, safe='') + '/' if server else ''}{what}"
    headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body is not None else None
    try:
        request = urllib.request.Request(url, data, headers)  # noqa: S310 (JupyterHub's own setting, not a person's)
        with _opener(url).open(request, timeout=timeout) as response:
            return _object(response.read(_LIMIT))
    except urllib.error.HTTPError as error:
        raise _relayed(error) from error
    except (OSError, ValueError) as error:
        raise _away(getattr(error, "reason", None) or error) from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token is not to be carried elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(url: str) -> urllib.request.OpenerDirector:
    handlers: list[Any] = [urllib.request.ProxyHandler({}), _NoRedirect()]
    authority = os.environ.get("JUPYTERHUB_SSL_CLIENT_CA")
    if url.startswith("https:") and authority:
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(os.environ["JUPYTERHUB_SSL_CERTFILE"], os.environ["JUPYTERHUB_SSL_KEYFILE"])
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)


def _object(data: bytes) -> dict[str, Any]:
    answer = json.loads(data)
    if not isinstance(answer, dict):
        raise ValueError("not a JSON object")
    return answer


def _relayed(error: urllib.error.HTTPError) -> SiflabError:
    try:
        answer = _object(error.read(_LIMIT))
        message = answer["message"]
        text = Text(str(message["en"]), str(message["zh"]))
        fields = [
            FieldError(str(one["field"]), str(one["code"]), Text(str(one["message"]["en"]), str(one["message"]["zh"])))
            for one in answer["errors"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return _away(f"HTTP {error.code}")
    if answer.get("code") == Invalid.code and fields:
        return Invalid(fields)
    return _KINDS.get(str(answer.get("code")), Internal)(text)


def _away(words: object) -> HubUnreachable:
    return HubUnreachable(
        Text(
            f"The Hub gave no usable answer ({words}). Try again in a while.",
            f"Hub 未给出可用的回答（{words}）。请稍后再试。",
        )
    )
