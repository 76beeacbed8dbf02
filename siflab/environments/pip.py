"""pip in an environment: run, watched, and its failures in words.

It is the image's own pip with the person's own configuration (index, mirror, proxy). Only wheels are installed unless
they ask otherwise: there is seldom a compiler in an image, and a build that fails after an hour helps nobody.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from siflab.environments.stop import Stop
from siflab.errors import Conflict, Internal, SiflabError
from siflab.text import Text

Say = Callable[[str], None]
_KEPT = 400  # lines of pip's output that are looked at for its failure
_LIST = r"""
import json, importlib.metadata as m, os, sys
prefix = os.path.realpath(sys.prefix) + os.sep
own, image = {}, {}
for d in m.distributions():
    name = (d.metadata["Name"] or "").strip()
    if name:
        mine = os.path.realpath(str(d.locate_file(""))).startswith(prefix)
        (own if mine else image).setdefault(name.lower().replace("_", "-"), [name, d.version])
print(json.dumps([own, image]))
"""


class Pip:
    """`say` hears what it prints, line by line."""

    def __init__(self, venv: Path, work: Path, say: Say, stop: Stop) -> None:
        self._python, self._work, self._say, self._stop = venv / "bin" / "python", work, say, stop

    def install(self, packages: list[str], from_source: bool) -> None:
        """Raises Conflict for what cannot be installed, Stopped, Internal for what failed."""
        listed = self._work / "requirements.txt"
        listed.write_text("".join(f"{line}\n" for line in packages), "utf-8")
        argv = [str(self._python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
                "--no-warn-script-location", "--progress-bar=off", f"--requirement={listed}"]  # fmt: skip
        if not from_source:
            argv.append("--only-binary=:all:")
        code, lines = self._run(argv)
        if code:
            raise failure(lines, from_source)

    def installed(self) -> tuple[list[str], dict[str, str]]:
        """(``name==version`` of what is in the environment itself, what of the image that stands behind: name ->
        version)."""
        done = subprocess.run(
            [str(self._python), "-c", _LIST], env=environment(), capture_output=True, text=True, check=False, cwd="/"
        )
        try:
            own, image = json.loads(done.stdout)
        except ValueError:
            raise Internal(_no_python(done.stderr)) from None
        replaced = {name: image[key][1] for key, (name, version) in own.items() if key in image}
        return sorted(f"{name}=={version}" for name, version in own.values()), dict(sorted(replaced.items()))

    def _run(self, argv: list[str]) -> tuple[int, list[str]]:
        env = {**environment(), "TMPDIR": str(self._work)}
        process = subprocess.Popen(
            argv, env=env, cwd=self._work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, encoding="utf-8", errors="replace", start_new_session=True,
        )  # fmt: skip
        lines: list[str] = []
        assert process.stdout is not None
        self._stop.watch(process)
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                del lines[:-_KEPT]
                self._say(lines[-1])
            code = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            self._stop.watch(None)
        self._stop.check()
        return code, lines


def environment() -> dict[str, str]:
    """The person's own, without what would lead pip or Python away from the environment."""
    drop = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    return {**kept, "PYTHONNOUSERSITE": "1", "PIP_USER": "0", "PYTHONUNBUFFERED": "1"}


_NETWORK = re.compile(
    r"NewConnectionError|Max retries exceeded|name resolution|Network is unreachable|ReadTimeoutError|ConnectTimeout|"
    r"ProxyError|Connection refused|No route to host|ConnectionResetError"
)
_NO_FILE = re.compile(r"No such file or directory: '([^']+)'")
_NO_MATCH = re.compile(r"No matching distribution found for ([^\s(;]+)")


def failure(lines: list[str], from_source: bool) -> SiflabError:
    """What pip's last lines mean."""
    text = "\n".join(lines)
    if "No space left on device" in text:
        return Internal(disk_full())
    if "Disk quota exceeded" in text:
        return Internal(quota_reached())
    if "No module named pip" in text:
        return Internal(
            Text(
                "the image's Python has no pip, which installs packages; ask your administrator to add it to the image",
                "镜像的 Python 中没有用于安装软件包的 pip；请管理员将其加入镜像",
            )
        )
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return Internal(
            Text(
                "the package index has a certificate that is not known here. Tell pip the certificate of your site "
                "(`pip config set global.cert FILE`), or ask your administrator",
                "软件包索引的证书不受信任。请告诉 pip 站点的证书（`pip config set global.cert 文件`），或联系管理员",
            )
        )
    if _NETWORK.search(text):
        return Internal(
            Text(
                "the package index cannot be reached from this machine. Try again on a machine that reaches it (often "
                "a login node: `siflab env` works there too), or set your site's mirror with `pip config set "
                "global.index-url ADDRESS`",
                "本机无法访问软件包索引。请在能访问的机器上重试（通常是登录节点，那里也可用 `siflab env`），"
                "或用 `pip config set global.index-url 地址` 设置站点镜像源",
            )
        )
    gone = _NO_FILE.search(text)
    if gone:
        return Conflict(Text(f"the file {gone[1]} does not exist", f"文件 {gone[1]} 不存在"))
    missing = _NO_MATCH.search(text)
    if missing:
        return _no_match(missing[1], from_source)
    if "ResolutionImpossible" in text or "conflicting dependencies" in text:
        why = _after(lines, "The conflict is caused by:") or _last_error(lines)
        return Conflict(
            Text(
                f"these packages cannot be installed together: {why}. Ask for other versions, or make two environments",
                f"这些软件包不能装在一起：{why}。请指定其他版本，或建立两个环境",
            )
        )
    if "Invalid requirement" in text:
        words = _last_error(lines)
        return Conflict(Text(f"pip does not understand this list: {words}", f"pip 无法理解该列表：{words}"))
    words = _last_error(lines)
    return Internal(Text(f"pip failed: {words}. The lines above say more", f"pip 失败：{words}。详情见上面的输出"))


def _no_match(package: str, from_source: bool) -> SiflabError:
    en, zh = f"there is no package {package}", f"没有软件包 {package}"
    if from_source:
        return Conflict(
            Text(
                f"{en} for this Python in the index; is the name right, and the version?",
                f"{zh}（索引中没有适合此 Python 的版本）；名称和版本是否正确？",
            )
        )
    return Conflict(
        Text(
            f"{en} for this Python in the index, or none that is ready built (a wheel). Is the name right, and the "
            "version? Another version may have a wheel; --from-source builds it here, if the image has a compiler",
            f"{zh}：索引中没有适合此 Python 的版本，或没有预编译包（wheel）。名称和版本是否正确？"
            "其他版本可能有 wheel；镜像中有编译器时可用 --from-source 在此编译",
        )
    )


def _last_error(lines: list[str]) -> str:
    errors = [line for line in lines if line.startswith("ERROR:")] or [line for line in lines if line.strip()]
    return (errors[-1] if errors else "no message").removeprefix("ERROR:").strip()[:300]


def _after(lines: list[str], heading: str) -> str:
    for index, line in enumerate(lines):
        if heading in line:
            rest = [each.strip() for each in lines[index + 1 : index + 4]]
            return "; ".join(each for each in rest if each)[:300]
    return ""


def disk_full() -> Text:
    return Text(
        "there is no space left on the disk; remove what you do not need, or make the environment elsewhere (--root)",
        "磁盘空间不足；请清理不需要的文件，或把环境建在别处（--root）",
    )


def quota_reached() -> Text:
    return Text(
        "your disk quota is used up; remove what you do not need, or make the environment elsewhere (--root scratch)",
        "您的磁盘配额已用完；请清理不需要的文件，或把环境建在别处（--root scratch）",
    )


def _no_python(words: str) -> Text:
    last = (words.strip().splitlines() or ["no answer"])[-1][:200]
    return Text(
        f"the Python of the environment does not run ({last}); remove the environment and make it again",
        f"环境中的 Python 无法运行（{last}）；请删除该环境并重新创建",
    )
