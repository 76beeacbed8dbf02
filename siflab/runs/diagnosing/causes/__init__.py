"""The causes, and what is said of each: of the machine and Slurm in `machine`, of the program in `program`.

A new one takes its words here; how it is recognised in `siflab.runs.diagnosing.rules` (a line of a log, an exception)
or `.cause` (Slurm's state, what job.sh found); what to change in `.changes`; a sample in ``tests/unit/runs/logs``; a
row in docs/diagnosis.md and .zh-CN.md.
"""

from siflab.runs.diagnosing.causes.machine import MACHINE
from siflab.runs.diagnosing.causes.program import PROGRAM
from siflab.runs.diagnosing.told import Told

CAUSES: dict[str, Told] = {**MACHINE, **PROGRAM}
"""By name; the names are for programs, and stay."""
