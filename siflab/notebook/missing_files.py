"""Files that a notebook reads by a path relative to its folder, and that are not there.

Nothing is said where the notebook may make the file itself: it names it elsewhere, changes its folder, downloads,
unpacks or copies, or gives commands to a shell.
"""

import posixpath
import re
from collections.abc import Callable, Sequence

from siflab.notebook.findings import Finding
from siflab.notebook.magics import cell_magic, line_magics, shell_commands
from siflab.notebook.read import Cell
from siflab.notebook.trees import Called, Code, text_of
from siflab.text import Text

_READS = frozenset(
    "np.load np.loadtxt np.genfromtxt np.fromfile numpy.load numpy.loadtxt numpy.genfromtxt torch.load torch.jit.load "  # noqa: SIM905
    "joblib.load Image.open PIL.Image.open cv2.imread cv.imread plt.imread mpimg.imread imageio.imread iio.imread "
    "io.imread tifffile.imread skimage.io.imread librosa.load torchaudio.load sf.read soundfile.read wavfile.read "
    "nib.load nibabel.load".split()
)
_OPENS = frozenset({"open", "io.open", "gzip.open", "bz2.open", "lzma.open", "codecs.open", "h5py.File"})
_TABLES = re.compile(r"(?:pd|pandas|pl|polars|dd|gpd|geopandas)\.read_(?!sql|clipboard|html|gbq)\w+", re.ASCII)
_MAKES = re.compile(
    r"download|retrieve|extract|unpack|untar|unzip|copy|move|rename|clone|get_file|fetch|chdir|system|subprocess|popen"
    r"|check_call|check_output|symlink|export|push|pull|save_all|write_image|urlopen",
    re.I,
)
_HARMLESS = re.compile(
    r"(?:pip3?|conda|mamba|ls|pwd|nvidia-smi|echo|head|tail|which|df|du|free|lscpu|python3? --version)\b"
)
_NO_FILE = re.compile(r"[*?{}$~<>|\n]|://|^\s|\s$")


def find_missing_files(
    cells: Sequence[Cell], codes: Sequence[Code], beside: Callable[[str], bool] | None
) -> list[Finding]:
    """One finding for each file, where it is first read, if that is certain to be tried. `beside` says whether a path
    relative to the notebook's folder is there."""
    if beside is None or _makes_files(cells, codes):
        return []
    reads = [(code.cell, called, path) for code in codes for called in code.calls if (path := _read_path(called))]
    others = _other_texts(cells, codes, {id(called.node.args[0]) for _, called, _ in reads})
    findings, told = [], set()
    for cell, called, path in sorted(reads, key=lambda read: (read[0].index, read[1].node.lineno)):
        if path in told or not called.certain or _named(path, others) or beside(path):
            continue
        told.add(path)
        message = Text(
            f"there is no file {path} beside the notebook, and the job runs in the notebook's folder; put it there, or "
            "write where it is",
            f"notebook 所在目录中没有文件 {path}，而作业在该目录中运行；请把文件放到那里，或写明其位置",
        )
        findings.append(Finding("no-such-file", "warning", message, cell.index, called.node.args[0].lineno))
    return findings


def _read_path(called: Called) -> str | None:
    """The path that the call reads, if it is written out and relative."""
    path = called.first_text()
    if path is None or not path or len(path) > 512 or path.startswith("/") or _NO_FILE.search(path):
        return None
    if "." not in posixpath.basename(path):  # a name of something else, more often than not
        return None
    if called.name in _OPENS:
        mode = called.node.args[1] if len(called.node.args) > 1 else called.keyword("mode")
        return path if mode is None or (text_of(mode) or "w").lstrip("btU").startswith("r") else None
    return path if called.name in _READS or _TABLES.fullmatch(called.name) else None


def _makes_files(cells: Sequence[Cell], codes: Sequence[Code]) -> bool:
    for cell in cells:
        if any(name in ("cd", "run", "load") for _, name, _ in line_magics(cell.source)):
            return True
        if any(not _HARMLESS.match(command) for _, command in shell_commands(cell.source) if command.strip()):
            return True
    return any(_MAKES.search(called.name) for code in codes for called in code.calls)


def _other_texts(cells: Sequence[Cell], codes: Sequence[Code], reads: set[int]) -> set[str]:
    found = {str(text.value) for code in codes for text in code.texts if id(text) not in reads}
    return found | {cell.source for cell in cells if cell_magic(cell.source) not in (None, "time", "timeit", "capture")}


def _named(path: str, others: set[str]) -> bool:
    """Whether the file, or a folder that it is in, is named elsewhere too."""
    name, folder = posixpath.basename(path), posixpath.normpath(path).split("/")[0]
    stem = name.rpartition(".")[0]
    in_folder = folder != name and folder != ".."
    return any(
        name in other or other == stem or (in_folder and other.strip("./").split("/")[0] == folder) for other in others
    )
