"""With internal_ssl the Hub's own port wants a client certificate, which a session's job gets only by its claim. So the
routes for jobs, and nothing else, are served a second time: over HTTPS, with the Hub's certificate, on a port of their
own.
"""

import asyncio
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from tornado import httpserver, web
from traitlets import Integer, Unicode
from traitlets.config import LoggingConfigurable

from siflab.text import Text
from siflab_spawner.claims.certificates import hub_with_ssl, is_good_for
from siflab_spawner.claims.claim_body import LIMITS

_server: "ClaimServer | None" = None
_task: "asyncio.Task[None] | None" = None


class ClaimServer(LoggingConfigurable):
    """One a Hub. `routes` are (path below the Hub's prefix, handler)."""

    ip = Unicode("", help="Address of this Hub at which the jobs' claims are taken; the Hub's own if empty.").tag(
        config=True
    )
    port = Integer(8082, help="Port at which the jobs' claims are taken with internal_ssl; nodes must reach it.").tag(
        config=True
    )

    def listen(self, app: Any, routes: list[tuple[str, Any]]) -> None:
        """Raises OSError when the port cannot be had."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(app.internal_ssl_cert, app.internal_ssl_key)
        paths = [(app.hub_prefix.rstrip("/") + path, handler) for path, handler in routes]
        server = httpserver.HTTPServer(
            web.Application(paths, **app.tornado_settings), ssl_options=context, max_body_size=max(LIMITS.values())
        )
        server.listen(self.port, self.ip or urlparse(app.hub.bind_url).hostname or "")
        self.log.info("siflab: claims of sessions are taken at port %d", self.port)


def begin() -> None:
    """Serve as soon as the Hub is up; once. It is called by the first spawner of a Hub, which is there before a job of
    an earlier Hub can be answered."""
    global _task
    app = hub_with_ssl()
    if app is not None and _task is None:
        _task = asyncio.ensure_future(_serve(app))


async def _serve(app: Any) -> None:
    global _server
    from siflab_spawner.claims.claim_handlers import JOB_ROUTES

    await asyncio.wait([app._start_future])
    server = ClaimServer(parent=app)
    try:
        server.listen(app, JOB_ROUTES)
    except Exception:
        app.log.exception("siflab: no claim can be taken at port %d (c.ClaimServer.port)", server.port)
        return
    _server = server
    trouble = problem(urlparse(app.hub.api_url).hostname or "")
    if trouble is not None:
        app.log.error("siflab: %s", trouble.en)


def problem(host: str) -> Text | None:
    """Why no session can claim at `host`, the Hub's name or address for the nodes; None if it can."""
    app = hub_with_ssl()
    if app is None:
        return None
    if _server is None:
        return Text(
            "The Hub takes no claims: the port for them (c.ClaimServer.port) cannot be used, see the Hub's log. "
            "Tell your administrator.",
            "Hub 无法接受会话的请求：其端口（c.ClaimServer.port）不可用，详见 Hub 日志。请联系管理员。",
        )
    if not is_good_for(Path(app.internal_ssl_cert).read_bytes(), host):
        return Text(
            f"The Hub's certificate is not good for {host}, by which the nodes reach the Hub. Tell your administrator: "
            f"it belongs into c.JupyterHub.trusted_alt_names (as IP:{host} or DNS:{host}), and the certificates must "
            "then be made anew (c.JupyterHub.recreate_internal_certs, once).",
            f"Hub 的证书不适用于 {host}，而计算节点通过它访问 Hub。请联系管理员：将其加入 "
            f"c.JupyterHub.trusted_alt_names（IP:{host} 或 DNS:{host}），并重新生成证书一次"
            "（c.JupyterHub.recreate_internal_certs）。",
        )
    return None


def claim_port() -> int:
    """Where claims are taken with internal_ssl."""
    return _server.port if _server is not None else 0
