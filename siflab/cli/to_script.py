"""`siflab to-script`."""

import argparse
import sys
from pathlib import Path

from siflab.cli.terminal import pick, say
from siflab.errors import Conflict, Internal, Invalid
from siflab.notebook import NotebookError, read_notebook
from siflab.notebook.export import to_script as script_of
from siflab.text import Text


def to_script(options: argparse.Namespace) -> int:
    """Standard output, or a new file; one that is there is kept unless --force is given."""
    try:
        script = script_of(read_notebook(str(Path(options.notebook).absolute())))
    except NotebookError as error:
        raise Invalid([error.error]) from error
    if options.output in (None, "-"):
        sys.stdout.write(script)
        return 0
    target = Path(options.output)
    try:
        with target.open("w" if options.force else "x", encoding="utf-8") as stream:
            stream.write(script)
    except FileExistsError as error:
        raise Conflict(
            Text(f"{target} is there already; --force replaces it", f"{target} 已存在；--force 可覆盖")
        ) from error
    except OSError as error:
        raise Internal(
            Text(f"{target} cannot be written ({error.strerror})", f"无法写入 {target}（{error.strerror}）")
        ) from error
    say(pick(f"written to {target}", f"已写入 {target}"))
    return 0
