"""The reference deployment of Siflab in a page.

What may be started stands in site.yaml ($SIFLAB_SITE, else /etc/siflab/site.yaml). What is of this Hub alone may stand
in a JSON file named by $SIFLAB_HUB_SETTINGS; every key has a default:

    public_url      how people reach it                          "http://127.0.0.1:8000"
    hub_bind_url    where the nodes reach the Hub's own port     "http://<this host's address>:8081"
    proxy_api_url   the proxy's control port                     "http://127.0.0.1:8001"
    proxy_command   the proxy as a list of arguments             ["configurable-http-proxy"]
    data_dir        database, cookie secret, pid file            "/var/lib/siflab/hub"
    admin_users     a list                                       []
    allowed_users   a list; ["*"] is everyone who can log in     ["*"] if there is no allowed_groups
    allowed_groups  Unix groups, a list                          []
    internal_ssl    TLS between Hub, proxy and sessions          false
    claim_port      with internal_ssl: where jobs claim          8082
"""

import contextlib
import json
import os
import socket
import sqlite3
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlparse

from siflab.config import load_site
from siflab_spawner.lifetime import idle
from siflab_spawner.page.pages import TEMPLATES


def is_address(host):
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


c = get_config()  # noqa: F821 (JupyterHub puts it here)

site = load_site()  # a site.yaml that cannot be used ends the start here, naming the key

settings_file = os.environ.get("SIFLAB_HUB_SETTINGS")
settings = json.loads(Path(settings_file).read_text("utf-8")) if settings_file else {}
known = {
    "public_url": "http://127.0.0.1:8000",
    "hub_bind_url": "",
    "proxy_api_url": "http://127.0.0.1:8001",
    "proxy_command": ["configurable-http-proxy"],
    "data_dir": "/var/lib/siflab/hub",
    "admin_users": [],
    "allowed_users": None,
    "allowed_groups": [],
    "internal_ssl": False,
    "claim_port": 8082,
}
unknown = set(settings) - set(known)
if unknown:
    raise SystemExit(f"{settings_file}: unknown keys: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
settings = {**known, **settings}

data = Path(settings["data_dir"])
data.mkdir(mode=0o700, parents=True, exist_ok=True)

c.JupyterHub.bind_url = settings["public_url"]
c.JupyterHub.hub_bind_url = settings["hub_bind_url"] or f"http://{socket.gethostbyname(socket.gethostname())}:8081"
c.JupyterHub.db_url = f"sqlite:///{data}/jupyterhub.sqlite"
with contextlib.closing(sqlite3.connect(data / "jupyterhub.sqlite")) as database:
    database.execute("PRAGMA journal_mode=WAL")  # a commit, of which a start makes many, waits for the disk once
c.JupyterHub.cookie_secret_file = str(data / "cookie_secret")
c.JupyterHub.pid_file = str(data / "jupyterhub.pid")
c.ConfigurableHTTPProxy.command = settings["proxy_command"]
c.ConfigurableHTTPProxy.api_url = settings["proxy_api_url"]
c.ConfigurableHTTPProxy.pid_file = str(data / "proxy.pid")

if settings["internal_ssl"]:
    hub_host = urlparse(c.JupyterHub.hub_bind_url).hostname  # the Hub's certificate must name it
    c.JupyterHub.internal_ssl = True
    c.JupyterHub.internal_certs_location = str(data / "internal-ssl")
    c.JupyterHub.trusted_alt_names = [f"{'IP' if is_address(hub_host) else 'DNS'}:{hub_host}"]
    c.ConfigurableHTTPProxy.api_url = settings["proxy_api_url"].replace("http:", "https:", 1)
    c.ClaimServer.port = settings["claim_port"]

c.JupyterHub.proxy_class = idle.QuietProxy  # sessions tell by themselves who uses them: an open page is no use
c.JupyterHub.services = idle.services(site, str(data / "internal-ssl") if settings["internal_ssl"] else None)
c.JupyterHub.load_roles = idle.roles(site)

c.JupyterHub.authenticator_class = "pam"
c.PAMAuthenticator.open_sessions = False  # sessions are jobs on other machines; an open PAM session here is of no use
c.Authenticator.admin_users = set(settings["admin_users"])
c.LocalAuthenticator.allowed_groups = set(settings["allowed_groups"])
everyone = settings["allowed_users"] is None and not settings["allowed_groups"]
c.Authenticator.allow_all = everyone or settings["allowed_users"] == ["*"]
c.Authenticator.allowed_users = set(settings["allowed_users"] or []) - {"*"}

c.JupyterHub.spawner_class = "siflab"
c.JupyterHub.template_paths = [TEMPLATES]  # the pages of a start that waits, fails or is over
c.Spawner.default_url = "/lab"

c.JupyterHub.cleanup_servers = False  # sessions outlive a restart of the Hub
c.JupyterHub.concurrent_spawn_limit = 0  # it would count the jobs that queue; Siflab paces sbatch by itself
c.JupyterHub.init_spawners_timeout = 2  # a session that boots while the Hub restarts is awaited in the background
c.JupyterHub.allow_named_servers = True
c.JupyterHub.named_server_limit_per_user = 5
