"""``python -m bench.preflight_corpus FOLDER...``: what preflight finds in notebooks that others wrote.

Each folder is a git repository (a bare one too: the newest commit of its main branch is read). Prints by code in how
many notebooks it was found, and with ``--show CODE`` the cells, to judge which findings are mistakes of ours;
``--sample N`` shows N of them, the same ones each time. ``--mode``, ``--gpus`` and the like are what the run would ask
for: some findings depend on it. The figures of docs/preflight.md.
"""

import argparse
import posixpath
import random
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from siflab.notebook import Finding, Notebook, NotebookError, Surroundings, preflight, read_notebook


class Repository:
    """The files of one commit; `files` has folders too."""

    def __init__(self, folder: Path) -> None:
        self.git = ["git", "-C", str(folder)]
        self.name = folder.parent.name if folder.name in ("repo", ".git") else folder.name
        self.commit = self._ask("rev-parse", "HEAD").strip()
        listed = self._ask("ls-tree", "-r", "-t", "-z", "--name-only", "HEAD")
        self.files = frozenset(name for name in listed.split("\0") if name)

    def _ask(self, *words: str) -> str:
        done = subprocess.run([*self.git, *words], check=True, capture_output=True)
        return done.stdout.decode("utf-8", "replace")

    def notebooks(self) -> Iterator[tuple[str, bytes]]:
        """(path, content), without those whose content is not here."""
        names = sorted(name for name in self.files if name.endswith(".ipynb") and "\n" not in name)
        with subprocess.Popen(
            [*self.git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as reader:
            assert reader.stdin is not None and reader.stdout is not None
            for name in names:
                reader.stdin.write(f"HEAD:{name}\n".encode())
                reader.stdin.flush()
                facts = reader.stdout.readline().split()
                if facts[-1:] != [b"missing"]:
                    content = reader.stdout.read(int(facts[2]))
                    reader.stdout.read(1)
                    yield name, content

    def around(self, notebook: str, given: argparse.Namespace) -> Surroundings:
        """As if the repository lay where the job sees all of it."""
        beside = posixpath.dirname(notebook)

        def exists(path: str) -> bool:
            found = posixpath.normpath(posixpath.join(beside, path))
            return found in self.files or found == "."

        return Surroundings(beside=exists, **{name: getattr(given, name) for name in ASKED if hasattr(given, name)})


ASKED = ("nodes", "gpus", "cpus", "mode", "time_seconds", "internet")


def code_of(finding: Finding) -> str:
    """With its severity, where that is less than a warning."""
    return f"{finding.code} (info)" if finding.severity == "info" else finding.code


def show(name: str, notebook: Notebook, one: Finding, lines: int) -> str:
    if one.cell is None:
        return f"== {name}: {one.message.en}"
    source = notebook.cells[one.cell].source.split("\n")
    at = (one.line or 1) - 1
    begin = max(0, at - lines // 2)
    shown = [f"  {'>' if n == at else ' '} {source[n][:150]}" for n in range(begin, min(len(source), begin + lines))]
    return "\n".join([f"== {name}: cell {one.cell + 1}, line {one.line}: {one.message.en[:100]}", *shown])


def main() -> None:
    options = argparse.ArgumentParser(prog="bench.preflight_corpus", description=__doc__)
    options.add_argument("repositories", nargs="+", type=Path, metavar="FOLDER")
    options.add_argument("--show", metavar="CODE", help="print the cells with this finding")
    options.add_argument("--sample", type=int, default=0, metavar="N", help="of them, N chosen by chance (0: all)")
    options.add_argument("--lines", type=int, default=7, help="of a cell that are shown (default: 7)")
    for name in ("nodes", "gpus", "cpus", "time-seconds"):
        options.add_argument(f"--{name}", type=int, default=argparse.SUPPRESS)
    options.add_argument("--mode", choices=("notebook", "distributed", "sweep"), default=argparse.SUPPRESS)
    options.add_argument("--no-internet", dest="internet", action="store_false", default=argparse.SUPPRESS)
    given = options.parse_args()
    shown: list[str] = []
    findings: Counter[str] = Counter()
    with_code: Counter[str] = Counter()
    read, took = 0, 0.0
    path = Path(tempfile.mkdtemp()) / "notebook.ipynb"
    seen: set[str] = set()
    for folder in given.repositories:
        repository = Repository(folder)
        here: dict[str, int] = defaultdict(int)
        count = 0
        for name, content in repository.notebooks():
            path.write_bytes(content)
            try:
                notebook = read_notebook(str(path))
            except NotebookError:
                continue
            code = "\0".join(cell.source for cell in notebook.code_cells)
            if code in seen:  # the same notebook again, translated or copied
                continue
            seen.add(code)
            count += 1
            began = time.monotonic()
            found = preflight(notebook, repository.around(name, given))
            took += time.monotonic() - began
            findings.update(code_of(one) for one in found)
            for code in {code_of(one) for one in found}:
                here[code] += 1
            shown += [
                show(f"{repository.name}/{name}", notebook, one, given.lines)
                for one in found
                if given.show in (one.code, code_of(one))
            ]
        with_code.update(here)
        read += count
        by_code = dict(sorted(here.items(), key=lambda item: -item[1]))
        print(f"{repository.name} {repository.commit[:7]}: {count} notebooks with code of their own; with {by_code}")
    if given.sample and len(shown) > given.sample:
        shown = random.Random(1).sample(shown, given.sample)  # noqa: S311
    print(*shown, sep="\n")
    print(f"{read} notebooks, {1000 * took / max(read, 1):.1f} ms each")
    for code, number in findings.most_common():
        print(f"{code:24} {number:6} findings in {with_code[code]:5} notebooks")


if __name__ == "__main__":
    main()
