"""The commands of batchspawner's settings: split as a shell would, run without one.

batchspawner joins ``exec_prefix`` and a command to one line and hands it to a shell of the Hub's account. Here each is
a list of words from the start; ``{name}`` is filled in afterwards, so that no value can become more words than one.
"""

import re
import shlex
import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from siflab.text import Text
from siflab_spawner.batchspawner_compat.refused import SettingRefused

_UNQUOTED = ("{{", "{%", "&&", "||", ">>", "<<", "$(", "`", "\n", *"$|&;><()*?~#")
_IN_DOUBLE_QUOTES = ("{{", "{%", "$(", "`", "$", "\n")
_ONE_COMMAND = Text(
    "Write one command and its options, such as `sbatch --parsable`; what the job needs belongs into req_prologue, "
    "what the Hub needs into a program of your own, named by its absolute path",
    "请只写一条命令及其选项，例如 `sbatch --parsable`；作业所需内容写入 req_prologue，"
    "Hub 所需内容写成独立程序并用绝对路径指定",
)
_IDENTITY = Text(
    "Siflab acts as the user by uid and gid (or through its launcher). Leave this setting out, or write "
    "`sudo -E -u {username}` as before",
    "Siflab 通过 uid 和 gid（或其 launcher）以用户身份操作。请去掉此设置，或照旧写 `sudo -E -u {username}`",
)
_SUDO_FLAGS = ("-E", "-n", "-H", "-i", "-S", "--preserve-env", "--non-interactive", "--set-home", "--login", "--")


@dataclass(frozen=True)
class Command:
    """Words with ``{name}`` in them; the first is the program."""

    setting: str
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.words[0]

    def filled(self, values: Mapping[str, str]) -> list[str]:
        """The argument list. A word that is nothing but ``{name}`` may hold several (``{options}``); an option whose
        values are all empty is left out, with the option letter before it."""
        argv: list[str] = []
        for word in self.words:
            names = fields(word)
            if len(names) == 1 and word == f"{{{names[0]}}}":
                more = shlex.split(values[names[0]])
            else:
                more = [word.format_map(values)]
            if names and not any(values[name] for name in names):
                if argv and re.fullmatch(r"-[A-Za-z]", argv[-1]) and not word.startswith("-"):
                    argv.pop()
                continue
            argv += more
        return argv


def fields(word: str) -> list[str]:
    """The names in ``{name}`` of one word. Raises ValueError for what is no plain name."""
    names = []
    for _, name, spec, conversion in string.Formatter().parse(word):
        if name is None:
            continue
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or spec or conversion:
            raise ValueError(name or "{}")
        names.append(name)
    return names


def read_command(setting: str, text: str, known: Collection[str], prefix: str = "") -> Command:
    """The command of a setting, without a ``sudo -u {username}`` of its own. Raises SettingRefused for shell syntax,
    unknown ``{name}`` and an empty command. `prefix` stands before it in messages only."""
    words = drop_identity(setting, split(setting, text))
    if not words:
        raise SettingRefused(setting, Text("no command is left", "没有命令"))
    if re.match(r"[A-Za-z_][A-Za-z0-9_]*=", words[0]) or Path(words[0]).name == "env":
        raise SettingRefused(
            setting,
            Text(
                f"{words[0]!r} sets variables for a command. Set them for the Hub (SLURM_CONF), or for the job in "
                "req_prologue",
                f"{words[0]!r} 为命令设置变量。请在 Hub 的环境中设置（SLURM_CONF），或在 req_prologue 中为作业设置",
            ),
        )
    for word in words:
        try:
            unknown = [name for name in fields(word) if name not in known]
        except ValueError as error:
            unknown = [str(error)]
        if unknown:
            raise SettingRefused(
                setting,
                Text(
                    f"there is no value for {{{unknown[0]}}}; known here: {', '.join(sorted(known))}",
                    f"没有 {{{unknown[0]}}} 的值；此处可用：{'、'.join(sorted(known))}",
                ),
            )
    return Command(setting, tuple(words))


def split(setting: str, text: str) -> list[str]:
    """The words of a command line. Raises SettingRefused, naming the setting and what is wrong in it."""
    found = shell_syntax(text)
    if found is not None:
        hint = Text("", "")
        if found in ("{{", "{%"):
            hint = Text("write {name} for {{ name }}. ", "请把 {{ name }} 写成 {name}。")
        raise SettingRefused(
            setting,
            Text(
                f"{found!r} is shell syntax, and Siflab runs commands without a shell. {hint.en}{_ONE_COMMAND.en}.",
                f"{found!r} 是 shell 语法，而 Siflab 不通过 shell 运行命令。{hint.zh}{_ONE_COMMAND.zh}。",
            ),
        )
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SettingRefused(setting, Text(f"{error} in {text!r}", f"{text!r} 中：{error}")) from error


def shell_syntax(text: str) -> str | None:
    """The first thing in a command line that only a shell would understand, or None. Quoted text is no syntax."""
    quote, at = "", 0
    text = text.strip()
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            at += 2
            continue
        if character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        elif quote != "'":
            for syntax in _IN_DOUBLE_QUOTES if quote else _UNQUOTED:
                if text.startswith(syntax, at) and (syntax not in "~#" or at == 0 or text[at - 1].isspace()):
                    return syntax
        at += 1
    return None


def check_prefix(setting: str, text: str) -> None:
    """``exec_prefix`` must mean nothing, or acting as the user, which Siflab does by itself. Raises SettingRefused."""
    rest = drop_identity(setting, split(setting, text))
    if rest:
        raise _no_identity(setting, f"{rest[0]!r} is not known", f"无法识别 {rest[0]!r}")


def drop_identity(setting: str, words: list[str]) -> list[str]:
    """Without a leading ``sudo -E -u {username}`` or ``runuser -u {username} --``. Raises SettingRefused when it is
    another user, or an option that means more."""
    program = Path(words[0]).name if words else ""
    if program == "su":
        raise _no_identity(setting, "`su` runs a shell", "`su` 会运行 shell")
    if program not in ("sudo", "runuser"):
        return words
    rest, user = words[1:], None
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word in ("-u", "--user") and rest:
            user = rest.pop(0)
        elif word.startswith(("-u", "--user=")):
            user = word.partition("=")[2] if word.startswith("--") else word[2:]
        elif word not in _SUDO_FLAGS and not word.startswith("--preserve-env="):
            raise _no_identity(setting, f"{word!r} of {program} is not known", f"无法识别 {program} 的选项 {word!r}")
        if word == "--":
            break
    if user != "{username}":
        raise _no_identity(
            setting,
            f"jobs belong to the user whose session it is, not to {user or 'root'!r}",
            f"作业属于会话的用户，而不是 {user or 'root'!r}",
        )
    return rest


def _no_identity(setting: str, en: str, zh: str) -> SettingRefused:
    return SettingRefused(setting, Text(f"{en}. {_IDENTITY.en}.", f"{zh}。{_IDENTITY.zh}。"))
