"""Siflab in a Jupyter server: the REST API of openapi.yaml and its event stream, under ``<base_url>siflab/``."""


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """What Jupyter Server asks for when `siflab_extension` stands among its `jpserver_extensions`."""
    from siflab_extension.app import SiflabExtension

    return [{"module": "siflab_extension", "app": SiflabExtension}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where the prebuilt front end lies, and the name (of its package.json) under which JupyterLab finds it."""
    return [{"src": "labextension", "dest": "siflab"}]
