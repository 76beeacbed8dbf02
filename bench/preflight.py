"""Preflight of a notebook of 200 cells, beside what anybody must do who looks at one: read its JSON, parse its cells.

``python -m bench.preflight`` needs no cluster. Both in turn, several times, in one process; the best time of each
counts, since other programs only ever add to it. Goal: under a second.
"""

import argparse
import ast
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from siflab.notebook import Kernels, Surroundings, preflight, read_notebook

GOAL = 1.0
CELLS = [
    "%matplotlib inline\nimport numpy as np\nimport torch\nfrom torch import nn\n"
    "from torch.utils.data import DataLoader",
    "!nvidia-smi\ndevice = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')",
    "class Net{n}(nn.Module):\n    def __init__(self, width=64):\n        super().__init__()\n"
    "        self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(3)])\n\n"
    "    def forward(self, x):\n        return self.layers(x.to(device)).mean(dim=-1)",
    "data_{n} = [(torch.rand(64), torch.rand(1)) for _ in range(1000)]\n"
    "loader_{n} = DataLoader(data_{n}, batch_size=32, shuffle=True, num_workers=2)",
    "model_{n} = nn.Linear(64, 1).to(device)\noptimizer_{n} = torch.optim.AdamW(model_{n}.parameters(), lr=1e-3)\n"
    "for epoch in range(10):\n    for x, y in loader_{n}:\n        optimizer_{n}.zero_grad()\n"
    "        loss = ((model_{n}(x.to(device)) - y.to(device)) ** 2).mean()\n        loss.backward()\n"
    "        optimizer_{n}.step()\n    if epoch % 2 == 0:\n        print(f'{epoch}: {loss.item():.3f}')",
    "torch.save(model_{n}.state_dict(), 'model_{n}.pt')\nfiles = !ls\nassert 'model_{n}.pt' in files",
    "%%time\nwith open('notes_{n}.txt', 'w') as file:\n    file.write('\\n'.join(str(value) for value in range(100)))",
    "means = [np.asarray([x.mean().item() for x, _ in data]).mean() for data in (data_{n}, data_{n}[:10])]\nmeans",
]


def notebook_of(cells: int) -> str:
    printed = [{"output_type": "stream", "name": "stdout", "text": [f"{n}: 0.123\n" for n in range(50)]}]
    made = [
        {"cell_type": "code", "metadata": {}, "execution_count": number + 1, "outputs": printed,
         "source": CELLS[number % len(CELLS)].replace("{n}", str(number // len(CELLS)))}
        for number in range(cells)
    ]  # fmt: skip
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": made})


def plain(path: Path) -> None:
    for cell in json.loads(path.read_bytes())["cells"]:
        try:
            ast.parse(cell["source"])
        except SyntaxError:
            continue


def ours(path: Path) -> None:
    around = Surroundings(
        kernels=Kernels({"python3": "python"}),
        mode="distributed", nodes=2, gpus=2, cpus=8, time_seconds=86400, max_time=3600, internet=False,
        exists=lambda path: False, beside=lambda path: False, has_module=lambda name: True,
    )  # fmt: skip
    preflight(read_notebook(str(path)), around)


def seconds_of(work: Callable[[Path], None], path: Path) -> float:
    begun = time.perf_counter()
    work(path)
    return time.perf_counter() - begun


def main() -> int:
    options = argparse.ArgumentParser(prog="bench.preflight", description=__doc__.partition("\n")[0])
    options.add_argument("--cells", type=int, default=200)
    options.add_argument("--repeat", type=int, default=9, help="times that each is done (default: 9)")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="siflab-bench-") as folder:
        path = Path(folder) / "notebook.ipynb"
        path.write_text(notebook_of(given.cells))
        times = [(seconds_of(plain, path), seconds_of(ours, path)) for _ in range(given.repeat)]
    base, took = (min(each) for each in zip(*times, strict=True))
    print(f"{given.cells} cells: preflight {1000 * took:.0f} ms (goal: under {1000 * GOAL:.0f} ms)")
    print(f"JSON and syntax trees alone: {1000 * base:.0f} ms; ratio {took / base:.1f}")
    return int(took >= GOAL)


if __name__ == "__main__":
    sys.exit(main())
