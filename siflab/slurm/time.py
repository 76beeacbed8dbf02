"""Slurm's notations of time.

Durations: ``M``, ``M:S``, ``H:M:S``, ``D-H``, ``D-H:M``, ``D-H:M:S`` (sbatch(1), --time).
Moments: ``2026-11-30T22:58:01`` in the cluster's own time zone, which the machines of one cluster share.
"""

import re
from datetime import datetime

_DAYS = re.compile(r"(\d{1,5})-(\d{1,3})(?::(\d{1,2}))?(?::(\d{1,2}))?", re.ASCII)
_CLOCK = re.compile(r"(\d{1,7})(?::(\d{1,2}))?(?::(\d{1,2}))?", re.ASCII)
_UNLIMITED = {"UNLIMITED", "INFINITE"}


def parse_time(text: str) -> int:
    """Seconds of a duration in Slurm's notation. Raises ValueError, also on ``UNLIMITED`` (see `parse_limit`)."""
    text = text.strip()
    if match := _DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(group or 0) for group in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if match := _CLOCK.fullmatch(text):
        first, second, third = match.groups()
        if third is not None:
            return (int(first) * 60 + int(second)) * 60 + int(third)
        return int(first) * 60 + int(second or 0)
    raise ValueError(f"not a time in Slurm's notation (M, H:MM:SS, D-HH:MM:SS): {text!r}")


def parse_limit(text: str) -> int | None:
    """Seconds of a limit as squeue and scontrol print it; None where there is none (``UNLIMITED``, ``N/A``, empty)."""
    text = text.strip()
    if text.upper() in _UNLIMITED | {"", "N/A", "NOT_SET", "INVALID", "PARTITION_LIMIT", "NONE"}:
        return None
    return parse_time(text)


def format_time(seconds: int) -> str:
    """A duration in Slurm's notation: ``0:30``-like forms are never used, since sbatch reads them as minutes."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}-{hour:02}:{minute:02}:{second:02}" if days else f"{hour}:{minute:02}:{second:02}"


def parse_timestamp(text: str) -> datetime | None:
    """A moment that a Slurm command printed, in this machine's zone; None for ``Unknown``, ``N/A``, ``None``, empty."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):  # OSError, OverflowError: near the ends of the calendar
        return None
