"""That Jupyter Server and JupyterLab find the extension."""

import json
from importlib import import_module
from pathlib import Path

import siflab_extension

FOLDER = Path(siflab_extension.__file__).parent


def test_the_installed_configuration_loads_the_extension(jp_serverapp):
    configuration = json.loads((FOLDER / "jupyter-config/siflab.json").read_text())
    (name,) = configuration["ServerApp"]["jpserver_extensions"]
    (point,) = import_module(name)._jupyter_server_extension_points()

    assert jp_serverapp.extension_manager.extensions[name].enabled
    assert (point["module"], point["app"].name) == (name, name)


def test_the_front_end_lies_under_the_name_of_its_package():
    (paths,) = siflab_extension._jupyter_labextension_paths()
    package = json.loads((FOLDER.parents[1] / "labextension/package.json").read_text())

    assert paths["dest"] == package["name"]
    assert (FOLDER / paths["src"]).resolve() == (
        FOLDER.parents[1] / "labextension" / package["jupyterlab"]["outputDir"]
    ).resolve()


def test_every_setting_has_help_with_an_example():
    (point,) = siflab_extension._jupyter_server_extension_points()
    settings = list(point["app"].class_own_traits(config=True).values())

    assert settings
    assert [trait.name for trait in settings if f"c.SiflabExtension.{trait.name} = " not in trait.help] == []
