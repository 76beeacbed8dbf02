"""Runs: notebooks promoted to batch jobs. What the REST API, the command line and widgets call alike.

Every function takes a `Viewer` (who looks, and from where) and is synchronous; all raise `siflab.errors.SiflabError`
only. What they return has `as_dict()` in the shape of openapi.yaml.
"""

from siflab.runs.cancel import cancel
from siflab.runs.exporting import Exported, export
from siflab.runs.listing import RunList, get_run, list_runs
from siflab.runs.log import LogPiece, read_log
from siflab.runs.point_table import PointTable, list_points, rerun_failed
from siflab.runs.preview import Preview, parameters_view, preflight, preview
from siflab.runs.provenance import get_provenance
from siflab.runs.repair import Repair, repair
from siflab.runs.request import RunRequest, checked_request
from siflab.runs.rerun import Rerun, rerun
from siflab.runs.resume import resume
from siflab.runs.run import Run
from siflab.runs.session import SessionFacts
from siflab.runs.session_time import extend_session, extension_view
from siflab.runs.submission import submit
from siflab.runs.usage import Usage, get_metrics
from siflab.runs.usage_following import UsagePiece, follow_metrics
from siflab.runs.viewer import Viewer
from siflab.runs.views import inventory_view, session_view, site_view

__all__ = [
    "Exported",
    "LogPiece",
    "PointTable",
    "Preview",
    "Repair",
    "Rerun",
    "Run",
    "RunList",
    "RunRequest",
    "SessionFacts",
    "Usage",
    "UsagePiece",
    "Viewer",
    "cancel",
    "checked_request",
    "export",
    "extend_session",
    "extension_view",
    "follow_metrics",
    "get_metrics",
    "get_provenance",
    "get_run",
    "inventory_view",
    "list_points",
    "list_runs",
    "parameters_view",
    "preflight",
    "preview",
    "read_log",
    "repair",
    "rerun",
    "rerun_failed",
    "resume",
    "session_view",
    "site_view",
    "submit",
]
