"""A cause in the words of `causes.CAUSES`, with what is known of this run."""

import os
import re
import signal as signals

from siflab.runs.diagnosing.case import Case
from siflab.runs.diagnosing.cause import Found
from siflab.runs.diagnosing.causes import CAUSES
from siflab.slurm.reasons import pending_reason
from siflab.text import Text

_MODULE = re.compile(r"No module named '?([\w.]{1,200})'?")
_PATH = re.compile(r"No such file or directory: (?:b?'([^'\n]{1,500})'|b?\"([^\"\n]{1,500})\")")


def message(case: Case, found: Found) -> Text:
    """What happened, where, why and what to do."""
    words = CAUSES[found.cause]
    en, zh = facts_of(case, found)
    what = Text(words.what.en.format_map(en), words.what.zh.format_map(zh))
    where = found.place.in_words()
    then = Text(words.then.en.format_map(en), words.then.zh.format_map(zh))
    if found.cause == "host_memory" and case.used_mib:
        used = gigabytes(case.used_mib)
        what += Text(f"{used} were in use when Slurm last looked.", f"Slurm 最后一次查看时已使用 {used}。")
    return what + where + then if where is not None else what + then


def facts_of(case: Case, found: Found) -> tuple[dict[str, str], dict[str, str]]:
    """For the texts in English and in Chinese."""
    raised = found.raised
    text = raised.text.partition("\n")[0] if raised is not None else ""
    module, path = _MODULE.search(text), _PATH.search(text)
    reason = pending_reason(case.reason)
    by = _by(case.cancelled_by)
    plain = {
        "asked": gigabytes(case.asked_number("memory_mib")),
        "time": duration(case.asked_number("time_seconds")).en,
        "gpus": str(case.asked_number("gpus")),
        "error": _ended(f"{raised.short_name}: {text[:300]}" if text else raised.short_name) if raised else "",
        "module": module[1] if module else text[:300],
        "path": (path[1] or path[2]) if path else text[:300],
        "signal": _signal(found.signal),
        "code": str(case.exit_code) if case.exit_code is not None else "?",
        "id": case.run_id,
        "reason": reason.en,
        "by": by.en,
        "by_zh": by.zh,
    }
    return plain, {**plain, "time": duration(case.asked_number("time_seconds")).zh, "reason": reason.zh}


def gigabytes(mib: int) -> str:
    """``48 GB``, where it is a whole number of them; ``1500 MB``."""
    return f"{mib // 1024} GB" if mib and mib % 1024 == 0 else f"{mib} MB"


def duration(seconds: int) -> Text:
    """``4 h``, ``1 d 12 h``, ``90 min``: the two largest units that it has."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [(days, "d", "天"), (hours, "h", "小时"), (minutes, "min", "分钟"), (rest, "s", "秒")]
    have = [part for part in parts if part[0]][:2] or [parts[-1]]
    return Text(" ".join(f"{n} {en}" for n, en, _ in have), " ".join(f"{n} {zh}" for n, _, zh in have))


def _by(uid: int | None) -> Text:
    if uid is None:
        return Text("somebody with scancel", "某人用 scancel ")
    if uid == 0:
        return Text("an administrator, or by Slurm itself", "管理员或 Slurm 自身")
    if uid == os.getuid():
        return Text("you", "您")
    return Text(f"the user with the number {uid}", f"编号为 {uid} 的用户")


def _signal(number: int | None) -> str:
    if number is None:
        return "a signal"
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
