#!/opt/jupyter/bin/python3
"""In the place of Jupyter where 200 servers at once would not fit on one machine: it answers, and that is all.

Everything before and around it (sbatch, container, claim, proxy, route) is real.
"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.send_header("X-JupyterHub-Version", "6.1.1")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    port = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"]).port
    ThreadingHTTPServer(("0.0.0.0", port or 0), Answer).serve_forever()  # noqa: S104
