"""Images: the keys of their layers, the definition, and what pip may see of this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.lab.trouble import Trouble
from images.bake import layers, recipe, root_folder, sif

DEMO = recipe.read("pytorch-cpu")


def test_all_images_have_recipes_and_pins() -> None:
    assert recipe.names() == ["pytorch-cpu", "stock", "stock-jupyterhub-4", "stock-jupyterhub-5"]
    pinned = {line.split("==")[0].lower() for line in DEMO.constraints.splitlines() if "==" in line}
    for name in recipe.names():
        wanted = {line.lower() for line in recipe.read(name).requirements.split()}
        assert wanted <= pinned


def test_the_stock_image_has_nothing_of_ours() -> None:
    stock = recipe.read("stock")
    assert not stock.siflab
    assert stock.requirements.split() == ["jupyterhub", "jupyterlab", "ipykernel"]


def test_a_recipe_may_have_versions_of_its_own() -> None:
    older = recipe.read("stock-jupyterhub-4").constraints.splitlines()
    assert [line for line in older if line.startswith("jupyterhub==")] == ["jupyterhub==4.1.6"]
    assert len(older) == len(recipe.read("stock").constraints.splitlines())


def test_an_unknown_image_is_refused() -> None:
    with pytest.raises(Trouble) as caught:
        recipe.read("tensorflow")
    assert "pytorch-cpu, stock" in caught.value.message.en


@pytest.mark.parametrize(
    ("change", "base", "python", "image"),
    [
        ({}, True, True, True),
        ({"version": "0.2.0"}, True, True, False),
        ({"requirements": "torch"}, True, False, False),
        ({"constraints": "torch==1"}, True, False, False),
        ({"packages": ("less",)}, False, False, False),
        ({"suite": "trixie"}, False, False, False),
    ],
)
def test_a_change_renews_its_layer_and_those_above(
    change: dict[str, object], base: bool, python: bool, image: bool
) -> None:
    other = replace(DEMO, **change)  # type: ignore[arg-type]
    assert (other.base_key() == DEMO.base_key()) is base
    assert (other.python_key() == DEMO.python_key()) is python
    assert (other.image_key("s") == DEMO.image_key("s")) is image


def test_a_change_of_our_code_renews_only_the_last_layer() -> None:
    assert DEMO.image_key("one") != DEMO.image_key("two")


def test_the_wheel_index_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = DEMO.python_key()
    monkeypatch.setenv("SIFLAB_TORCH_INDEX", "https://wheels.example/cpu")
    assert DEMO.python_key() != before


def test_a_layer_that_was_cut_off_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "CACHE", tmp_path)

    def cut_off(folder: Path) -> None:
        folder.mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        layers.kept("base-x", cut_off)
    assert not (tmp_path / "base-x").exists()
    made = layers.kept("base-x", lambda folder: (folder / "etc").mkdir(parents=True))
    assert (made / "etc").is_dir()
    assert layers.kept("base-x", cut_off) == made


def test_the_definition_carries_the_labels() -> None:
    text = sif.definition(Path("/r"), {"org.opencontainers.image.version": "1.2", "siflab.image": "x"})
    assert "From: /r\n" in text
    assert "    org.opencontainers.image.version 1.2\n    siflab.image x\n" in text
    assert 'export PATH="/opt/jupyter/bin:$PATH"' in text


def test_pip_sees_local_wheels_and_nothing_of_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels, index = tmp_path / "wheels", tmp_path / "index" / "simple"
    wheels.mkdir()
    index.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file://{index} https://example.org/etc")
    monkeypatch.delenv("PIP_CONFIG_FILE", raising=False)
    found = root_folder.pip_paths()
    assert wheels in found and index.parent in found
    assert Path("/etc") not in found


def test_variables_of_other_programs_are_not_passed_on() -> None:
    assert "PIP_PACKAGES" not in root_folder.PASSED_ON
    assert "PIP_INDEX_URL" in root_folder.PASSED_ON
