"""`siflab.checkpoint` with torch, in the image that has it: no job, only the container."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from siflab.inside import build_archive

IMAGE = os.environ.get("SIFLAB_TEST_DEMO_IMAGE", "")
TRAINING = Path(__file__).with_name("torch_training.py")
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]

pytestmark = pytest.mark.skipif(not Path(IMAGE).is_file(), reason="no image: see cluster/test")


@pytest.fixture
def train(tmp_path):
    """train(ranks, break_at, folder) -> what the training printed."""
    (tmp_path / "training.py").write_bytes(TRAINING.read_bytes())
    (tmp_path / "runner.pyz").write_bytes(build_archive())

    def run(ranks, break_at, folder):
        environment = {
            **os.environ,
            "ARCHIVE": str(tmp_path / "runner.pyz"),
            "CHECKPOINT_DIR": str(tmp_path / folder),
            "OMP_NUM_THREADS": "1",
        }
        start = TORCHRUN if ranks > 1 else []
        command = ["singularity", "exec", "-B", str(tmp_path), IMAGE, "python", *start, str(tmp_path / "training.py")]
        done = subprocess.run(
            [*command, str(break_at)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_training_that_was_broken_off_ends_like_one_that_was_not(train, ranks):
    whole = train(ranks, 0, "whole")
    first = train(ranks, 3, "parts")
    second = train(ranks, 0, "parts")
    assert first["weights"] != whole["weights"] and first["seen"] == [0, 1, 2]
    assert second == whole
    assert (whole["seen"], whole["step"], whole["rate"]) == ([0, 1, 2, 3, 4, 5], 5, [0.0025])
    assert (whole["array"], whole["kind"], whole["number"], whole["keys"]) == ([2, 0, 3], "ndarray", 0.5, ["0.bias"])
    of_ranks = [".rank-1.ckpt"] if ranks > 1 else []
    assert whole["names"] == [f"step-000000000{step}{end}" for step in (3, 4, 5) for end in [".ckpt", *of_ranks]]
