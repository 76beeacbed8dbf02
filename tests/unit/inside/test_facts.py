"""What a job is made of: found without importing or starting anything, and never a reason to fail."""

import json
import sys

import pytest

from siflab.inside import facts
from siflab.inside.attempt import AttemptFolder


def test_facts_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    monkeypatch.setenv("SLURM_JWT", "s3cret")
    before = set(sys.modules)
    facts.write_facts(AttemptFolder(tmp_path, 1))
    told = json.loads((tmp_path / "attempts/1/facts.json").read_text())
    assert told["python"] == ".".join(map(str, sys.version_info[:3]))
    assert told["slurm"]["SLURM_JOB_ID"] == "42" and "s3cret" not in json.dumps(told)
    assert told["packages"]["ipykernel"] and not {"torch", "ipykernel"} & (set(sys.modules) - before)


def test_a_gpu_node(tmp_path, monkeypatch):
    driver, gpus, labels = tmp_path / "version", tmp_path / "gpus", tmp_path / "labels.json"
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n")
    (gpus / "0000:01:00.0").mkdir(parents=True)
    (gpus / "0000:01:00.0" / "information").write_text("Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ: 1\n")
    labels.write_text('{"org.opencontainers.image.version": "1.2"}')
    torch = tmp_path / "torch"
    torch.mkdir()
    (torch / "__init__.py").write_text("raise RuntimeError('it was imported')")
    (torch / "version.py").write_text("__version__ = '2.13.0+cu126'\ncuda: Optional[str] = '12.6'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(facts, "_DRIVER", driver)
    monkeypatch.setattr(facts, "_GPUS", gpus)
    monkeypatch.setattr(facts, "_LABELS", labels)
    told = facts.facts()
    assert (told["driver"], told["gpus"], told["torch_cuda"]) == ("535.129.03", ["NVIDIA A100-SXM4-40GB"], "12.6")
    assert told["image_labels"] == {"org.opencontainers.image.version": "1.2"}


@pytest.mark.parametrize("node", ["1", "3"])
def test_only_the_first_node_writes(tmp_path, monkeypatch, node):
    monkeypatch.setenv("SLURM_NODEID", node)
    facts.write_facts(AttemptFolder(tmp_path, 1))
    assert not (tmp_path / "attempts").exists()


def test_what_cannot_be_written_is_no_failure(tmp_path):
    (tmp_path / "attempts").write_text("")
    facts.write_facts(AttemptFolder(tmp_path, 1))
