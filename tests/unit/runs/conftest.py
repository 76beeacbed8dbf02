"""A person with a home, a site and a fake Slurm."""

import json
from pathlib import Path

import pytest

from siflab.config import parse_site
from siflab.runs import RunRequest, Viewer
from tests.unit.runs.fake_slurm import FakeSlurm


@pytest.fixture(autouse=True)
def no_sync(monkeypatch):
    """What a power failure would leave is not tested here, and fsync is what takes the time."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def slurm():
    return FakeSlurm()


@pytest.fixture
def site_data(tmp_path):
    """As YAML gives it; binds the home as sites do."""
    image = tmp_path / "image.sif"
    image.write_bytes(b"#!/usr/bin/env run-singularity\n\0SIF_MAGIC\0")
    (tmp_path / "home" / "user1").mkdir(parents=True)
    return {
        "version": 1,
        "name": "test",
        "title": "Test",
        "singularity": {"binds": [f"{tmp_path}/home:/workspace"]},
        "slurm": {"partitions": {"gpu-a100": {"environment": {"NCCL_DEBUG": "WARN"}}}},
        "images": {"torch": {"path": str(image), "title": "PyTorch", "python": "/opt/python"}},
        "profiles": {
            "a100": {
                "title": "A100",
                "image": "torch",
                "partition": "gpu-a100",
                "gpus": 1,
                "gpu_type": "a100",
                "cpus": 2,
                "memory": "4G",
                "time": "2:00:00",
                "allow": {"gpus": {"min": 1, "max": 4}, "time": "8:00:00"},
            },
        },
    }


@pytest.fixture
def viewer(tmp_path, slurm, site_data):
    return Viewer(parse_site(site_data), slurm, "user1", str(tmp_path / "home" / "user1"))


@pytest.fixture
def notebook(viewer):
    """Makes a notebook in the home; gives its path."""

    def make(name: str = "train.ipynb", *cells: str) -> Path:
        path = Path(viewer.home) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "language": "python"}},
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"c{i}",
                    "metadata": {},
                    "source": source,
                    "outputs": [],
                    "execution_count": 1,
                }
                for i, source in enumerate(cells or ("print(1)",))
            ],
        }
        path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        return path

    return make


@pytest.fixture
def request_for(notebook):
    """A request for a new notebook."""

    def make(notebook_name: str = "train.ipynb", **choices) -> RunRequest:
        return RunRequest(path=str(notebook(notebook_name)), profile=choices.pop("profile", "a100"), **choices)

    return make
