"""What a notebook fetches from the internet, where the partition's nodes do not reach it."""

import posixpath
import re

from siflab.notebook.findings import Finding
from siflab.notebook.program import Program
from siflab.notebook.surroundings import Surroundings
from siflab.notebook.trees import Called, perhaps, text_of
from siflab.text import Text

_FETCHES = re.compile(
    r"(?:wget|curl|gdown|kaggle|hf download|huggingface-cli download|git clone|git lfs|aws s3|gsutil|aria2c)\s",
    re.ASCII,
)
_CALLS = frozenset(
    "urlretrieve urlopen hf_hub_download snapshot_download fetch_openml fetch_california_housing fetch_20newsgroups "  # noqa: SIM905
    "fetch_olivetti_faces fetch_lfw_people fetch_covtype dataset_download model_download get_file".split()
)
_NAMES = re.compile(
    r"(?:nltk|gdown|wget|kagglehub)\.\w*download|requests\.(?:get|post)|torch\.hub\.load|tfds\.load|sns\.load_dataset"
    r"|(?:tf\.)?keras\.datasets\.\w+\.load_data|datasets\.load_dataset|load_dataset",
    re.ASCII,
)
_FORMATS = frozenset("csv json parquet text imagefolder audiofolder arrow pandas webdataset".split())  # noqa: SIM905
_NAME_ON_A_HUB = re.compile(r"[A-Za-z0-9][\w.-]{1,95}(?:/[\w.-]{1,95})?", re.ASCII)


def find_downloads(program: Program, around: Surroundings) -> list[Finding]:
    """One finding, at the first place, with the number of the others. What is in a cache already is not known."""
    if around.internet is not False:
        return []
    guarded = {code.cell.index: perhaps(code.tree) for code in program.codes}
    found = [
        (cell.index, line)
        for cell, line, command in program.commands
        if _FETCHES.match(command) and line not in guarded.get(cell.index, ())
    ]
    found += [
        (cell.index, called.node.lineno)
        for cell, called in program.calls
        if called.certain and _fetches(called, program)
    ]
    if not found:
        return []
    (cell, line), others = min(found), len(set(found)) - 1
    more = (f" (and {others} more places)", f"（另有 {others} 处）") if others else ("", "")
    message = Text(
        f"this fetches something from the internet{more[0]}, and the nodes of this partition do not reach it: fetch it "
        "first on a login node or in a session, into your home or HF_HOME",
        f"此处从互联网获取内容{more[1]}，而该分区的节点无法访问互联网：请先在登录节点或会话中下载到主目录或 HF_HOME",
    )
    return [Finding("needs-internet", "info", message, cell, line)]


def _fetches(called: Called, program: Program) -> bool:
    first = called.first_text() or ""
    if called.last.startswith("read_") or called.last in ("imread", "load_image"):
        return first.startswith(("https://", "http://"))
    if called.last == "from_pretrained":
        return _is_on_a_hub(first, program)
    if _NAMES.fullmatch(called.name):
        return first not in _FORMATS
    if called.last in _CALLS:
        return True
    download = called.keyword("download")
    return getattr(download, "value", None) is True


def _is_on_a_hub(name: str, program: Program) -> bool:
    """And not a folder that the notebook itself writes."""
    if not _NAME_ON_A_HUB.fullmatch(name) or posixpath.splitext(name)[1] in (".json", ".bin", ".pt"):
        return False
    texts = [text for code in program.codes for text in code.texts if text.value == name]
    loads = [
        called
        for _, called in program.calls
        if called.last in ("from_pretrained", "pipeline") and any(text_of(part) == name for part in called.node.args)
    ]
    return "/" in name and len(texts) <= len(loads)
