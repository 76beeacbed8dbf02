"""Which parts of a request go together."""

from siflab.errors import FieldError
from siflab.runs.request import RunRequest
from siflab.text import Text


def check_mode(request: RunRequest) -> list[FieldError]:
    """What a mode, or a script, cannot have, with the field that is in the way."""
    errors = []
    if request.mode == "sweep" and request.sweep is None:
        errors.append(FieldError("sweep", "missing", Text("say which points the sweep has", "请给出参数扫描的各个点")))
    if request.mode != "sweep" and request.sweep is not None:
        errors.append(_not_with("sweep", "points belong to the mode sweep", "参数点仅用于 sweep 模式"))
    if request.processes is not None and request.mode != "distributed":
        errors.append(
            _not_with(
                "processes",
                "processes a node are chosen for the mode distributed only",
                "只有 distributed 模式才能选择每节点进程数",
            )
        )
    if request.arguments and not request.is_script:
        errors.append(
            _not_with(
                "arguments",
                "arguments are for a script (.py); a notebook has parameters",
                "arguments 仅用于脚本（.py）；notebook 使用 parameters",
            )
        )
    if request.kernel is not None and request.is_script:
        errors.append(
            _not_with(
                "kernel", "a script has no kernel: the image's Python runs it", "脚本没有内核：由镜像中的 Python 运行"
            )
        )
    if request.parameters and request.is_script:
        errors.append(
            _not_with(
                "parameters",
                "a script has no parameters of its own; give it arguments, such as --epochs 10",
                "脚本没有 parameters；请使用 arguments，例如 --epochs 10",
            )
        )
    if any("\0" in argument for argument in request.arguments):
        errors.append(_not_with("arguments", "an argument cannot hold a NUL", "参数不能包含 NUL 字符"))
    return errors


def _not_with(field: str, en: str, zh: str) -> FieldError:
    return FieldError(field, "not-in-this-mode", Text(en, zh))
