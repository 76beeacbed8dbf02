"""A run whose kernel is one of the person's own environments."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from siflab.config import Bind
from siflab.container.digest import fingerprint
from siflab.environments import Environment
from siflab.errors import Invalid
from siflab.runs import preflight, submit
from siflab.runs.session import SessionFacts

OTHER = "sif:" + "b" * 64


@pytest.fixture
def environment(viewer):
    """Write the record of the environment `nlp`, as `siflab env create` in the image leaves it."""

    def write(identity, name="nlp", **changes):
        made = Environment(
            name=name,
            identity=identity,
            image_id="torch",
            image_path=viewer.site.images["torch"].path,
            title={"en": "PyTorch", "zh": "PyTorch"},
            folder=f"/workspace/user1/.siflab/environments/{name}/x",
            packages=["einops"],
            installed=["einops==0.8.1"],
            **changes,
        )
        folder = Path(viewer.home) / ".siflab/environments" / name / made.id
        folder.mkdir(parents=True)
        (folder / "environment.json").write_text(json.dumps(made.record()))
        return made

    return write


@pytest.fixture
def of_image(viewer):
    return fingerprint(viewer.site.images["torch"].path)


def findings(viewer, request):
    return [(each.code, each.message.en) for each in preflight(viewer, request) if each.severity == "error"]


def test_the_job_finds_its_kernel_and_the_run_folder_says_what_was_in_it(viewer, request_for, environment, of_image):
    made = environment(of_image)
    run = submit(viewer, request_for(kernel="siflab-nlp"))
    folder = Path(run.folder)
    path = f"/workspace/user1/.siflab/environments/.kernels/{made.id}"
    assert f"  export JUPYTER_PATH={path}\n" in (folder / "job.sh").read_text()
    assert json.loads((folder / "environment.json").read_text())["installed"] == ["einops==0.8.1"]
    request = json.loads((folder / "request.json").read_text())
    assert (request["kernel"], request["environment"]["name"]) == ("siflab-nlp", "nlp")


def test_a_run_without_one_has_nothing_of_it(viewer, request_for, environment, of_image):
    environment(of_image)
    folder = Path(submit(viewer, request_for()).folder)
    assert "JUPYTER_PATH=" not in (folder / "job.sh").read_text()
    assert not (folder / "environment.json").exists()
    assert json.loads((folder / "request.json").read_text())["environment"] is None


@pytest.mark.parametrize(
    ("identity", "says"),
    [(OTHER, "made for another image, or an earlier state of torch"), (None, "siflab env create nlp")],
)
def test_one_for_another_image_or_none_is_said_before(viewer, slurm, request_for, environment, identity, says):
    if identity:
        environment(identity)
    request = request_for(kernel="siflab-nlp")
    ((code, message),) = findings(viewer, request)
    assert code == "environment-not-usable" and says in message
    with pytest.raises(Invalid) as caught:
        submit(viewer, request)
    assert [each.field for each in caught.value.errors] == ["kernel"]


def test_a_new_image_under_the_same_name_is_another_image(viewer, request_for, environment, of_image):
    environment(of_image)
    assert findings(viewer, request_for(kernel="siflab-nlp")) == []
    with Path(viewer.site.images["torch"].path).open("ab") as image:
        image.write(b"another build")
    ((code, _),) = findings(viewer, request_for(kernel="siflab-nlp"))
    assert code == "environment-not-usable"


def test_the_notebooks_own_kernel_counts_too(viewer, request_for, environment, of_image, notebook):
    request = request_for()
    document = json.loads(Path(request.path).read_text())
    document["metadata"]["kernelspec"]["name"] = "siflab-nlp"
    Path(request.path).write_text(json.dumps(document))
    assert findings(viewer, request)[0][0] == "environment-not-usable", "not silently the image's python3"
    environment(of_image)
    assert findings(viewer, request) == []
    written = json.loads((Path(submit(viewer, request).folder) / "request.json").read_text())
    assert written["kernel"] == "siflab-nlp", "so the runner takes no other one in its place"
    assert findings(viewer, request.model_copy(update={"kernel": "python3"})) == []


def test_in_a_session_the_image_is_what_the_session_runs_in(viewer, tmp_path, request_for, environment):
    facts = dict.fromkeys(SessionFacts.__dataclass_fields__)
    facts.update(folder=tmp_path, image_id="torch", image_identity=OTHER, gpus=0, home_host=viewer.home)
    facts.update(home_inside=viewer.home, binds=(Bind(source=str(tmp_path), target=str(tmp_path)),))
    inside = replace(viewer, in_session=SessionFacts(**facts))
    made = environment(OTHER)
    assert "lost its files" in findings(inside, request_for(kernel="siflab-nlp"))[0][1], "here its files can be seen"
    (Path(viewer.home) / "venv").mkdir()
    (Path(viewer.home) / "venv" / "pyvenv.cfg").touch()
    record = Path(viewer.home) / ".siflab/environments/nlp" / made.id / "environment.json"
    record.write_text(json.dumps({**made.record(), "folder": viewer.home}))
    assert findings(inside, request_for(kernel="siflab-nlp")) == []
