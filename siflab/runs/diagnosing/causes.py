"""The table of causes."""

from siflab.runs.diagnosing.told import Told
from siflab.runs.diagnosing.words_machine import MACHINE
from siflab.runs.diagnosing.words_program import PROGRAM

CAUSES: dict[str, Told] = {**MACHINE, **PROGRAM}
"""By name; the names are for programs, and stay."""
