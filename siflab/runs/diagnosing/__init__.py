"""Why a run ended as it did: a table of causes, each with its words and what to change.

`diagnose` looks at Slurm's state, the exit codes, result.json and end.json, and at most 256 KiB of logs.
"""

from siflab.config import Site
from siflab.runs.diagnosing.case import Case, with_accounting, with_logs
from siflab.runs.diagnosing.cause import find
from siflab.runs.diagnosing.causes import CAUSES
from siflab.runs.diagnosing.changes import changes
from siflab.runs.diagnosing.diagnosis import Change, Diagnosis, Place
from siflab.runs.diagnosing.words import message

__all__ = ["CAUSES", "Case", "Change", "Diagnosis", "Place", "diagnose", "with_accounting", "with_logs"]


def diagnose(case: Case, site: Site, profile: str) -> Diagnosis:
    """Of a run that has ended and did not complete; `profile` is that of the request."""
    found = find(case)
    possible, ends = changes(case, found.cause, site, profile)
    said = message(case, found)
    return Diagnosis(found.cause, said + ends if ends is not None else said, found.said, found.place, possible)
