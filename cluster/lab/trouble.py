"""What goes wrong with the cluster or the demo, said so that its reader knows what to do; and running a command so."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from siflab.text import Text


class Trouble(Exception):
    """Something could not be done. `message` says what and why; `advice` what to do about it, where that is known."""

    def __init__(self, message: Text, advice: Text | None = None) -> None:
        super().__init__(message.en)
        self.message = message if advice is None else message + advice


def run(
    argv: Sequence[object],
    *,
    stdin: str | None = None,
    check: bool = True,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = 600,
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end with both outputs kept; a failure is a `Trouble` that quotes its last lines.

    `env` comes on top of this process's environment; Slurm's commands find their cluster by SLURM_CONF in it.
    """
    command = [str(part) for part in argv]
    try:
        done = subprocess.run(
            command,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, **(env or {})},
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        raise Trouble(
            Text(f"The program {command[0]} is not installed.", f"没有安装程序 {command[0]}。"),
            Text("`make demo` installs all that is needed.", "`make demo` 会安装所需的一切。"),
        ) from None
    except subprocess.TimeoutExpired:
        raise Trouble(
            Text(
                f"`{' '.join(command)}` did not end within {timeout:.0f} s.",
                f"`{' '.join(command)}` 在 {timeout:.0f} 秒内没有结束。",
            )
        ) from None
    if check and done.returncode != 0:
        words = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-12:])
        raise Trouble(
            Text(
                f"`{' '.join(command)}` failed ({done.returncode}):\n{words}",
                f"`{' '.join(command)}` 失败（{done.returncode}）：\n{words}",
            )
        )
    return done
