"""What must exist before a container can start."""

from collections.abc import Iterable
from pathlib import Path

from siflab.config import Bind
from siflab.errors import FieldError
from siflab.text import Text


def check_binds(binds: Iterable[Bind]) -> list[FieldError]:
    """One error for each bind whose source is not there. May block on a slow file system: call it as the user, in a
    child or a thread with a time limit."""
    errors = []
    for bind in binds:
        try:
            there = Path(bind.source).exists()
        except OSError:
            there = False
        if not there:
            errors.append(bind_problem(bind))
    return errors


def bind_problem(bind: Bind) -> FieldError:
    """The error for a bind whose source was found missing, here or elsewhere."""
    return FieldError(
        "binds",
        "bind-source-missing",
        Text(
            f"{bind.source}, which the container needs as {bind.target}, does not exist on this machine; "
            "ask your administrator to check `singularity.binds` in site.yaml",
            f"容器需要的 {bind.source}（挂载为 {bind.target}）在本机不存在；"
            "请让管理员检查 site.yaml 中的 `singularity.binds`",
        ),
    )
