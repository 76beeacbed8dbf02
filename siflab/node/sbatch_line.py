"""sbatch's command line and #SBATCH lines: which word is an option, which its value, which the script.

sbatch reads options with getopt_long and "+": up to the first word that is none, which names the script; what follows
is the script's own. Sources: sbatch(1) and ``sbatch --help`` of Slurm 22.05 and 24.11. An option of a later Slurm that
is not known here is taken to have a value.
"""

import shlex
from collections import namedtuple

Option = namedtuple("Option", "name value at width")  # `width` words of the line, from `at`

_WITHOUT_VALUE = frozenset(
    "contiguous help hold ignore-pbs no-requeue overcommit oversubscribe parsable quiet reboot requeue share "
    "spread-job test-only usage use-min-nodes verbose version wait".split()
)
_VALUE_ONLY_AFTER_EQUALS = frozenset("exclusive get-user-env nice no-kill propagate".split())
_SHORT = {"D": "chdir", "F": "nodefile", "J": "job-name", "e": "error", "i": "input", "o": "output"}
_SHORT_WITHOUT_VALUE = frozenset("HIOQVWhksuv")
PATHS = frozenset("bbf chdir container error export-file input nodefile output".split())
_ABBREVIATED = _WITHOUT_VALUE | _VALUE_ONLY_AFTER_EQUALS | PATHS | {"export", "job-name", "wrap"}


def parse(words):
    """(options, place of the script's name or None) of what follows ``sbatch``. Between the parts of a heterogeneous
    job stands a ``:``."""
    options, at = [], 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return options, at + 1 if at + 1 < len(words) else None
        if word == ":":
            at += 1
            continue
        if not word.startswith("-") or word == "-":
            return options, at
        found = _long(words, at) if word.startswith("--") else _short(words, at)
        options += found
        at += found[-1].width
    return options, None


def _long(words, at):
    name, equals, value = words[at][2:].partition("=")
    name = _full(name)
    if equals:
        return [Option(name, value, at, 1)]
    if name in _WITHOUT_VALUE or name in _VALUE_ONLY_AFTER_EQUALS or at + 1 == len(words):
        return [Option(name, None, at, 1)]
    return [Option(name, words[at + 1], at, 2)]


def _full(name):
    """getopt_long takes unambiguous beginnings."""
    if name in _ABBREVIATED or len(name) < 3:
        return name
    fitting = [known for known in _ABBREVIATED if known.startswith(name)]
    return fitting[0] if len(fitting) == 1 else name


def _short(words, at):
    """One word such as ``-N2``, ``-Wo`` or ``-o`` with the next one as its value."""
    letters, found = words[at][1:], []
    for place, letter in enumerate(letters):
        name = _SHORT.get(letter, letter)
        if letter in _SHORT_WITHOUT_VALUE:
            found.append(Option(name, None, at, 1))
            continue
        rest = letters[place + 1 :]
        if rest:
            return found + [Option(name, rest, at, 1)]
        if at + 1 < len(words):
            return found + [Option(name, words[at + 1], at, 2)]
    return found or [Option("", None, at, 1)]


def directives(script):
    """The options of a script's #SBATCH lines, which end at its first command."""
    options = []
    for line in script[: 1 << 16].decode("utf-8", "surrogateescape").splitlines():
        if line.startswith("#SBATCH"):
            try:
                options += parse(shlex.split(line[len("#SBATCH") :], comments=True))[0]
            except ValueError:  # an open quotation mark: sbatch says so itself
                continue
        elif line.strip() and not line.startswith("#"):
            break
    return options


def exported(options):
    """The variables that --export names without a value: theirs is to be found where sbatch was called."""
    names = []
    for option in options:
        if option.name == "export" and option.value:
            names += [item for item in option.value.split(",") if item and "=" not in item]
    return [name for name in names if name not in ("ALL", "NIL", "NONE")]


def reads_input(words):
    """Whether sbatch takes the script from its standard input."""
    options, script = parse(words)
    names = {option.name for option in options}
    return script is None and not names & {"wrap", "help", "usage", "version", "h", "u", "V"}
