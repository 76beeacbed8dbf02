"""``python -m bench.preflight_corpus FOLDER...``: what preflight finds in notebooks that others wrote.

Each folder is a git repository (a bare one too: its newest commit is read). Prints by code in how many notebooks it was
found, and with ``--show CODE`` the lines, to judge which are mistakes of ours. The figures of docs/preflight.md.
"""

import argparse
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from siflab.notebook import NotebookError, Surroundings, preflight, read_notebook


def notebooks(repository: Path) -> Iterator[tuple[str, bytes]]:
    """(path, content) of the newest commit's notebooks."""
    git = ["git", "-C", str(repository)]
    head = subprocess.run([*git, "rev-list", "-n1", "--all"], check=True, capture_output=True, text=True).stdout.strip()
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "--name-only", head], check=True, capture_output=True).stdout
    for name in listed.decode("utf-8", "replace").split("\0"):
        if name.endswith(".ipynb"):
            shown = subprocess.run([*git, "show", f"{head}:{name}"], check=False, capture_output=True)
            if shown.returncode == 0:
                yield name, shown.stdout


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("repositories", nargs="+", type=Path)
    options.add_argument("--show", metavar="CODE", help="print the cells' lines of this code")
    given = options.parse_args()
    with_code: dict[str, Counter[str]] = defaultdict(Counter)
    findings: Counter[str] = Counter()
    read, took = 0, 0.0
    path = Path(tempfile.mkdtemp()) / "notebook.ipynb"
    for repository in given.repositories:
        count = 0
        for name, content in notebooks(repository):
            path.write_bytes(content)
            try:
                notebook = read_notebook(str(path))
            except NotebookError:
                continue
            count += 1
            began = time.monotonic()
            found = preflight(notebook, Surroundings())
            took += time.monotonic() - began
            for one in found:
                findings[one.code] += 1
            for code in {one.code for one in found}:
                with_code[repository.parent.name][code] += 1
            for one in found:
                if one.code == given.show and one.cell is not None:
                    source = notebook.cells[one.cell].source.split("\n")
                    line = source[one.line - 1] if one.line else source[0]
                    print(f"{name}:{one.cell + 1}:{one.line}: {line.strip()[:100]}   # {one.message.en[:60]}")
        print(f"{repository.parent.name}: {count} notebooks, {dict(with_code[repository.parent.name].most_common())}")
        read += count
    print(f"{read} notebooks, {1000 * took / max(read, 1):.1f} ms each; findings: {dict(findings.most_common())}")


if __name__ == "__main__":
    main()
