"""`siflab` in a session: the image's own, if it has one; else only `siflab env`, which is carried along."""

import os
import shutil
import sys

from .words import Words, language

PROGRAM = "environments"
"""In the private folder: `siflab.environments` as one file; it came with the answer to the claim."""
_NOT_FOUND = 127


def main(words, folder):
    """Becomes the program, or gives an exit code."""
    commands = os.path.realpath(os.path.join(folder, "bin"))
    path = [each for each in os.environ.get("PATH", "").split(os.pathsep) if os.path.realpath(each or ".") != commands]
    own = shutil.which("siflab", path=os.pathsep.join(path))
    if own is not None:
        os.execv(own, ["siflab"] + words)
    program = os.path.join(folder, PROGRAM)
    if words[:1] == ["env"] and os.path.exists(program):
        os.execv(sys.executable, [sys.executable, "-I", program] + words[1:])
    said = getattr(_without(), language(os.environ))
    sys.stderr.write("siflab: %s\n" % said)
    return _NOT_FOUND


def _without():
    return Words(
        "this image has no siflab of its own, so only `siflab env` works here. Use a login node for the rest, or ask "
        "for an image that has siflab",
        "此镜像没有安装 siflab，这里只能使用 `siflab env`。其他命令请在登录节点上使用，或申请带有 siflab 的镜像",
    )
