"""The instance's site.yaml, from the one in the checkout with its own paths; and a look whether Siflab can read it."""

import re

from cluster.instance.names import CHECKOUT, Instance
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

STOCK_IMAGE = """  stock:
    path: {path}
    title: {{en: "Stock JupyterLab", zh: "原版 JupyterLab"}}
    python: /opt/jupyter/bin/python3
"""
STOCK_PROFILE = """  stock:
    title: {en: "Stock JupyterLab, CPU", zh: "原版 JupyterLab，CPU"}
    image: stock
    partition: cpu
    cpus: 1
    memory: 2G
    time: 1:00:00
"""


def replaced(text: str, pattern: str, replacement: str) -> str:
    """One place, exactly; site.yaml of the checkout and this have to agree."""
    changed, count = re.subn(pattern, lambda _: replacement, text, flags=re.MULTILINE)
    if count != 1:
        raise Trouble(
            Text(
                f"site.yaml in the checkout has {count} places like {pattern!r}, not one.",
                f"检出目录中的 site.yaml 有 {count} 处匹配 {pattern!r}，应为一处。",
            )
        )
    return changed


def render(text: str, instance: Instance) -> str:
    """The checkout's site.yaml for this instance."""
    cluster = instance.cluster()
    text = replaced(text, r"^name: demo\b", f"name: {instance.name}")
    text = replaced(text, r"^  # conf: .*$", f"  conf: {cluster.conf}")
    text = replaced(text, r"^    - /scratch:/tmpdata$", f"    - {instance.scratch}:/tmpdata")
    text = replaced(text, r"^    - /dataset:/datasets:ro$", f"    - {instance.dataset}:/datasets:ro")
    text = replaced(text, r"/var/lib/siflab/demo/images/pytorch-cpu\.sif", str(instance.image("pytorch-cpu")))
    if "stock" in instance.images:
        image = STOCK_IMAGE.format(path=instance.image("stock"))
        text = replaced(text, r"^profiles:", image + "\nprofiles:")
        text = replaced(text, r"^runs:", STOCK_PROFILE + "\nruns:")
    return text


def write(instance: Instance) -> None:
    fresh = instance.site.with_suffix(".new")
    fresh.write_text(render((CHECKOUT / "site.yaml").read_text("utf-8"), instance), "utf-8")
    fresh.chmod(0o644)
    script = "import sys; from siflab.config import load_site; load_site(sys.argv[1])"
    run([instance.venv / "bin" / "python", "-c", script, fresh])
    fresh.replace(instance.site)
