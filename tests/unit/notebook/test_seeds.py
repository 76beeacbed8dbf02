"""Seeds are found by syntax tree, not by their letters."""

from siflab.notebook import read_notebook, read_script
from siflab.notebook.seeds import find_seeds

SOURCE = """import torch, random
SEED = 7
torch.manual_seed(SEED); random.seed(1)
np.random.seed(2)
rng = np.random.default_rng(3)
pl.seed_everything(4, workers=True)
split(x, random_state=5)
# torch.manual_seed(6)
print("torch.manual_seed(7)")
default_rng()
bird.seed(8)
"""


def test_seeds_of_a_script(tmp_path):
    path = tmp_path / "t.py"
    path.write_text(SOURCE)
    found = [(seed.line, seed.call, seed.value) for seed in find_seeds(read_script(str(path)))]
    assert found == [
        (3, "torch.manual_seed", "SEED"),
        (3, "random.seed", "1"),
        (4, "np.random.seed", "2"),
        (5, "np.random.default_rng", "3"),
        (6, "pl.seed_everything", "4"),
        (7, "split", "5"),
    ]


def test_many_seeds_are_bounded_and_other_languages_have_none(tmp_path):
    path = tmp_path / "t.py"
    path.write_text("random.seed(1)\n" * 100)
    assert len(find_seeds(read_script(str(path)))) == 50
    notebook = tmp_path / "r.ipynb"
    notebook.write_text(
        '{"nbformat": 4, "metadata": {"language_info": {"name": "R"}}, "cells": '
        '[{"cell_type": "code", "source": "set.seed(1)"}]}'
    )
    assert find_seeds(read_notebook(str(notebook))) == []
