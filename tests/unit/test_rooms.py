"""The order of the rooms: a lower one never imports a higher one, and every package is in setup.cfg."""

import ast
import configparser
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
ROOTS = {
    "siflab": REPOSITORY / "siflab",
    "siflab_spawner": REPOSITORY / "spawner" / "siflab_spawner",
    "siflab_extension": REPOSITORY / "extension" / "siflab_extension",
}
# what each room may import of ours, besides itself, text and errors
MAY_IMPORT = {
    "siflab.slurm": set(),
    "siflab.config": {"siflab.slurm"},
    "siflab.container": {"siflab.slurm", "siflab.config"},
    "siflab.script": {"siflab.slurm", "siflab.config", "siflab.container", "siflab.node"},
    "siflab.notebook": {"siflab.slurm", "siflab.config", "siflab.container", "siflab.script"},
    "siflab.environments": set(),
    "siflab.runs": {
        "siflab.slurm",
        "siflab.config",
        "siflab.container",
        "siflab.environments",
        "siflab.script",
        "siflab.notebook",
        "siflab.inside",
    },
    "siflab.node": set(),
    "siflab.inside": set(),
    "siflab.api": {"siflab.runs"},
    "siflab.widgets": {"siflab.api", "siflab.runs", "siflab.notebook"},
    "siflab.testing": {"siflab.inside"},
    "siflab.cli": {
        "siflab.slurm",
        "siflab.config",
        "siflab.container",
        "siflab.environments",
        "siflab.script",
        "siflab.notebook",
        "siflab.runs",
    },
    "siflab_spawner": {
        "siflab.slurm",
        "siflab.config",
        "siflab.container",
        "siflab.environments",
        "siflab.script",
        "siflab.node",
    },
    "siflab_extension": {
        "siflab.slurm",
        "siflab.config",
        "siflab.container",
        "siflab.environments",
        "siflab.notebook",
        "siflab.runs",
    },
}
COMMON = {"siflab", "siflab.text", "siflab.errors", "siflab.model_errors", "siflab.ownership"}
SELF_CONTAINED = {"siflab.node", "siflab.inside"}


def room_of(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "siflab" else parts[0]


def modules():
    for name, root in ROOTS.items():
        for file in sorted(root.rglob("*.py")):
            parts = [name, *file.relative_to(root).with_suffix("").parts]
            yield ".".join(parts).removesuffix(".__init__"), file


def imports(module: str, file: Path) -> set[str]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found |= {origin} | {f"{origin}.{alias.name}" for alias in node.names if origin == "siflab"}
    return {name for name in found if name.split(".")[0] in ROOTS}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_lower_room_imports_no_higher_one(room):
    allowed = MAY_IMPORT[room] | {room} | (set() if room in SELF_CONTAINED else COMMON)
    wrong = [
        f"{module} imports {name}"
        for module, file in modules()
        if room_of(module) == room
        for name in imports(module, file)
        if room_of(name) not in allowed
    ]
    assert wrong == []


def test_every_room_is_known_here():
    assert {room_of(module) for module, _ in modules()} - COMMON - set(MAY_IMPORT) == set()


def test_every_package_is_in_setup_cfg():
    settings = configparser.ConfigParser()
    settings.read(REPOSITORY / "setup.cfg")
    listed = set(settings["options"]["packages"].split())
    found = {module for module, file in modules() if file.name == "__init__.py"}
    assert listed == found


def test_no_room_is_larger_than_one_subject():
    large = {
        str(file.relative_to(REPOSITORY)): lines
        for _, file in modules()
        if (lines := len(file.read_text("utf-8").splitlines())) > 300
    }
    assert large == {}
