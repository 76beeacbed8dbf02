"""The runner, crash-safe saving on, beside ``jupyter execute`` (bare nbclient) and papermill, on the same notebooks.

``python -m bench.runner`` needs nbclient and ipykernel in this Python and no cluster; papermill is installed into an
environment of its own, which is removed afterwards (``--no-papermill`` leaves it out). Each tool in turn, several
times; the best time of each counts, since other programs only ever add to it. Goals: 0.8 of ``jupyter execute``'s time
for 300 small cells, 0.9 for 200 cells of 0.5 MB, and no more memory for 1 GB of output than for 20 MB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

from siflab.inside import AttemptFolder, build_archive, read_result

MEASURED = (
    "import resource, runpy, sys; sys.argv = sys.argv[1:]\n"
    "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
    "finally: print('PEAK', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)
LINE = "x" * 99
HALF_MB = f"for _ in range(10): print('\\n'.join(['{LINE}'] * 500))"
GOALS = {"300 small cells": 0.8, "200 cells of 0.5 MB": 0.9}
CASES = {"300 small cells": ["pass"] * 300, "200 cells of 0.5 MB": [HALF_MB] * 200}


def notebook_of(sources: list[str]) -> str:
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        for n, source in enumerate(sources)
    ]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": cells})


def seconds_of(command: list[str]) -> tuple[float, str]:
    """(wall time, what it printed); raises when it fails."""
    begun = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    took = time.perf_counter() - begun
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}")
    return took, done.stdout


def run_siflab(sources: list[str], folder: Path) -> tuple[float, int]:
    """(seconds, peak memory of the runner's process in MB)."""
    (folder / "input.ipynb").write_text(notebook_of(sources))
    (folder / "request.json").write_text(json.dumps({"id": "bench", "name": "bench", "workdir": str(folder)}))
    (folder / "runner.pyz").write_bytes(build_archive())
    archive = str(folder / "runner.pyz")
    took, printed = seconds_of([sys.executable, "-c", MEASURED, archive, "--run", str(folder), "--attempt", "1"])
    result = read_result(AttemptFolder(folder, 1))
    if result is None or result.status != "completed" or result.cells_done != len(sources):
        raise RuntimeError(f"the runner did not complete: {result}")
    return took, int(printed.rpartition("PEAK")[2]) // 1024


def siflab(sources: list[str], folder: Path) -> float:
    return run_siflab(sources, folder)[0]


def jupyter_execute(sources: list[str], folder: Path) -> float:
    (folder / "input.ipynb").write_text(notebook_of(sources))
    program = str(Path(sys.executable).with_name("jupyter-execute"))
    return seconds_of([program, "--output", str(folder / "output.ipynb"), str(folder / "input.ipynb")])[0]


def papermill_in(environment: Path) -> Callable[[list[str], Path], float]:
    venv.create(environment, with_pip=True)
    python = str(environment / "bin" / "python")
    seconds_of([python, "-m", "pip", "install", "--quiet", "papermill", "ipykernel"])

    def papermill(sources: list[str], folder: Path) -> float:
        (folder / "input.ipynb").write_text(notebook_of(sources))
        files = [str(folder / "input.ipynb"), str(folder / "output.ipynb")]
        return seconds_of([python, "-m", "papermill", "--no-progress-bar", *files])[0]

    return papermill


def best_times(
    tools: dict[str, Callable[[list[str], Path], float]], sources: list[str], repeat: int
) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in tools}
    for turn in range(repeat):
        for name, tool in tools.items():
            if name == "papermill" and turn > 0:
                continue  # minutes, and far off
            with tempfile.TemporaryDirectory(prefix="siflab-bench-") as folder:
                times[name].append(tool(sources, Path(folder)))
    return {name: min(each) for name, each in times.items()}


def peak(megabytes: int) -> tuple[float, int]:
    cell = f"for _ in range({megabytes}): print('\\n'.join(['{LINE}'] * 10_000))"
    cell += "\nimport resource; print('KERNEL', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    with tempfile.TemporaryDirectory(prefix="siflab-bench-") as folder:
        return run_siflab([cell], Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.runner", description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3, help="times that each tool runs (default: 3)")
    parser.add_argument("--no-papermill", action="store_true")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of output for the memory (default: 1; 0: none)")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = ""  # each tool as it is installed
    tools = {"siflab": siflab, "jupyter execute": jupyter_execute}
    with tempfile.TemporaryDirectory(prefix="siflab-bench-venv-") as environment:
        if not options.no_papermill:
            try:
                tools["papermill"] = papermill_in(Path(environment))
            except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
                print(f"papermill cannot be installed here: {error}", file=sys.stderr)
        for name, sources in CASES.items():
            times = best_times(tools, sources, options.repeat)
            ratio = times["siflab"] / times["jupyter execute"]
            said = ", ".join(f"{tool} {seconds:.2f} s" for tool, seconds in times.items())
            print(f"{name}: {said}; ratio to jupyter execute {ratio:.2f} (goal {GOALS[name]})", flush=True)
    if options.gigabytes:
        few, much = peak(20), peak(int(options.gigabytes * 1000))
        print(f"peak memory of the runner: {few[1]} MB for 20 MB of output, {much[1]} MB for {options.gigabytes:g} GB "
              f"(ratio {much[1] / few[1]:.2f}; {few[0]:.1f} s and {much[0]:.1f} s)")  # fmt: skip


if __name__ == "__main__":
    main()
