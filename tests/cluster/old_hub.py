"""A Hub with a site's old jupyterhub_config.py for batchspawner.SlurmSpawner, with only the class name changed (and
`site_file` set to "none", since the machine of these tests may have a site.yaml)."""

import hashlib

from tests.cluster.hub import PROXY, Hub, site

CLASS = """
c.JupyterHub.spawner_class = "siflab_spawner.SingularitySlurmSpawner"
c.SingularitySlurmSpawner.site_file = "none"
"""


class OldHub(Hub):
    """A Hub whose configuration is a site's old one."""

    def __init__(self, folder, config):
        super().__init__(folder, site())
        url = f"http://{self.address}:{self.hub_port}/hub/api"
        self.site = {"name": "hub-" + hashlib.sha256(url.encode()).hexdigest()[:10]}
        (folder / "data").mkdir()
        (folder / "jupyterhub_config.py").write_text(f"""
c = get_config()
c.JupyterHub.bind_url = "{self.url}"
c.JupyterHub.hub_bind_url = "http://{self.address}:{self.hub_port}"
c.JupyterHub.db_url = "sqlite:///{folder}/data/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/data/cookie_secret"
c.ConfigurableHTTPProxy.command = ["{PROXY}"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{self.api_port}"
c.ConfigurableHTTPProxy.pid_file = "{folder}/data/proxy.pid"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.cleanup_servers = False
c.JupyterHub.services = [{{"name": "test", "api_token": "{self.token}"}}]
c.JupyterHub.load_roles = [{{"name": "test", "services": ["test"],
    "scopes": ["admin:users", "admin:servers", "access:servers", "tokens", "groups", "list:users"]}}]
c.JupyterHub.log_level = 10
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 1}}
{CLASS}
{config}
""")


def running(folder, config):
    hub = OldHub(folder, config)
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()
