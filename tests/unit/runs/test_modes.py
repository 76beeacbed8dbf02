"""What the modes make of a request: scripts, several nodes, attempts, a run that is only written down."""

import json
from pathlib import Path

import pytest

from siflab.config import parse_site
from siflab.errors import Invalid
from siflab.runs import RunRequest, Viewer, get_run, parameters_view, preview, submit
from tests.unit.extension.openapi_contract import Contract


@pytest.fixture
def script(viewer):
    path = Path(viewer.home) / "train.py"
    path.write_text("print('hello')\n")
    return path


def told(run):
    return json.loads((Path(run.folder) / "request.json").read_text("utf-8"))


def test_a_script_is_kept_and_described(viewer, script):
    run = submit(
        viewer, RunRequest(path=str(script), profile="a100", arguments=("--epochs", "10", "a b; rm -rf $HOME"))
    )
    assert (Path(run.folder) / "input.py").read_bytes() == script.read_bytes()
    assert not (Path(run.folder) / "input.ipynb").exists()
    request = told(run)
    assert (request["kind"], request["notebook"]) == ("script", "/workspace/user1/train.py")
    assert request["arguments"] == ["--epochs", "10", "a b; rm -rf $HOME"]
    assert "rm -rf" not in (Path(run.folder) / "job.sh").read_text(), "what a person typed is in no script"
    assert (run.kind, run.name) == ("script", "train")
    script.write_text("print('another')\n")
    assert get_run(viewer, run.id).source_changed is True


def test_several_nodes(viewer, site_data, notebook):
    site_data["profiles"]["a100"]["allow"]["nodes"] = 4
    viewer = Viewer(parse_site(site_data), viewer.slurm, "user1", viewer.home)
    path = str(notebook())
    run = submit(viewer, RunRequest(path=path, profile="a100", mode="distributed", nodes=2, gpus=4, attempts=3))
    request, text = told(run), (Path(run.folder) / "job.sh").read_text()
    assert (request["mode"], request["nodes"], request["processes"], request["attempts"]) == ("distributed", 2, 4, 3)
    assert "\nprocesses=4 # a node\n" in text and "\nattempts=3 " in text and "#SBATCH --nodes=2\n" in text
    assert run.mode == "distributed"
    one = preview(viewer, RunRequest(path=path, profile="a100", mode="distributed", nodes=2, processes=3))
    assert "\nprocesses=3 # a node\n" in one.script
    assert not [finding for finding in one.findings if finding.code == "first-node-only"]


WRONG = [
    ({"processes": 2}, "processes"),
    ({"arguments": ("x",)}, "arguments"),
    ({"mode": "sweep"}, "sweep"),
    ({"sweep": {"grid": {"a": [1]}}}, "sweep"),
]
WRONG_FOR_A_SCRIPT = [({"kernel": "python3"}, "kernel"), ({"parameters": {"a": 1}}, "parameters")]


@pytest.mark.parametrize(("more", "field"), [*WRONG, *WRONG_FOR_A_SCRIPT])
def test_what_does_not_go_together_is_said_at_its_field(viewer, notebook, script, more, field):
    path = script if (more, field) in WRONG_FOR_A_SCRIPT else notebook()
    with pytest.raises(Invalid) as caught:
        submit(viewer, RunRequest(path=str(path), profile="a100", **more))
    assert [error.field for error in caught.value.errors] == [field]


def test_a_script_that_is_no_text_is_refused(viewer, script):
    script.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Invalid) as caught:
        submit(viewer, RunRequest(path=str(script), profile="a100"))
    assert [(error.field, error.code) for error in caught.value.errors] == [("path", "not-a-script")]


def test_only_the_script(viewer, slurm, notebook):
    run = submit(viewer, RunRequest(path=str(notebook()), profile="a100", script_only=True))
    assert (run.state, run.job_id) == ("not_submitted", None) and "sbatch job.sh" in run.reason.en
    assert slurm.count("sbatch") == 0
    slurm.queued("99", "PENDING", comment=f"siflab-run:{run.id}")
    assert get_run(viewer, run.id).state == "pending", "submitted by hand"


def test_large_things_go_to_the_sites_scratch(viewer, site_data, notebook, tmp_path):
    site_data["singularity"]["binds"].append(f"{tmp_path}/scratch:/tmpdata")
    (tmp_path / "scratch").mkdir()
    site_data["runs"] = {"scratch": f"{tmp_path}/scratch/siflab", "hf_home": f"{tmp_path}/scratch/hf"}
    viewer = Viewer(parse_site(site_data), viewer.slurm, "user1", viewer.home)
    run = submit(viewer, RunRequest(path=str(notebook()), profile="a100"))
    text, name = (Path(run.folder) / "job.sh").read_text(), Path(run.folder).name
    assert f"\nscratch={tmp_path}/scratch/siflab/user1/{name}\n" in text
    assert f"\nscratch_inside=/tmpdata/siflab/user1/{name}\n" in text
    assert "  export HF_HOME=/tmpdata/hf\n" in text
    assert told(run)["environment_variables"]["HF_HOME"] == "/tmpdata/hf"


def test_gpus_get_the_allocator_that_does_not_fragment_unless_the_site_says_otherwise(viewer, site_data, notebook):
    path = str(notebook())
    line = "  export PYTORCH_CUDA_ALLOC_CONF="
    assert f"{line}expandable_segments:True\n" in preview(viewer, RunRequest(path=path, profile="a100")).script
    site_data["slurm"]["partitions"]["gpu-a100"]["environment"]["PYTORCH_CUDA_ALLOC_CONF"] = "x:1"
    other = Viewer(parse_site(site_data), viewer.slurm, "user1", viewer.home)
    assert f"{line}x:1\n" in preview(other, RunRequest(path=path, profile="a100")).script


def test_the_parameters_of_a_notebook_as_the_contract_says(viewer, notebook, tmp_path):
    path = notebook("train.ipynb", "rate: float = 0.1  # learning rate\nlayers = [1, 2]\nwhen = now()")
    document = json.loads(path.read_text())
    document["cells"][0]["metadata"]["tags"] = ["parameters"]
    path.write_text(json.dumps(document))
    told = parameters_view(viewer, str(path))
    for one in told["parameters"]:
        Contract().check_schema("Parameter", one)
    found = [(one["name"], one["kind"], one["value"], one["help"]) for one in told["parameters"]]
    assert found == [
        ("rate", "float", 0.1, "learning rate"), ("layers", "list", [1, 2], ""), ("when", "any", None, ""),
    ]  # fmt: skip
    (tmp_path / "train.py").write_text("rate = 1")
    assert parameters_view(viewer, str(tmp_path / "train.py")) == {"parameters": []}
    for wrong in (tmp_path / "gone.ipynb", tmp_path / "train.py.ipynb"):
        (tmp_path / "train.py.ipynb").write_text("no JSON")
        with pytest.raises(Invalid):
            parameters_view(viewer, str(wrong))
