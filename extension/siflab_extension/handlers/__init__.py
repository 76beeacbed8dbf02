"""The routes: one handler for each path of openapi.yaml."""

from tornado.web import RequestHandler

from siflab_extension.handlers.again import ProvenanceHandler, RepairHandler, RerunHandler, ResumeHandler
from siflab_extension.handlers.base import NoSuchRoute
from siflab_extension.handlers.environments import EnvironmentJobHandler, EnvironmentsHandler, StopHandler
from siflab_extension.handlers.events import EventsHandler
from siflab_extension.handlers.extension import ExtensionHandler
from siflab_extension.handlers.promotion import ParametersHandler, PreflightHandler, PreviewHandler
from siflab_extension.handlers.runs import (
    CancelHandler,
    LogHandler,
    MetricsHandler,
    PointsHandler,
    RerunPointsHandler,
    RunHandler,
    RunsHandler,
)
from siflab_extension.handlers.site import InventoryHandler, SessionHandler, SiteHandler
from siflab_extension.pattern import RUN_ID

#: Paths as openapi.yaml writes them.
ROUTES: dict[str, type[RequestHandler]] = {
    "/site": SiteHandler,
    "/session": SessionHandler,
    "/session/extension": ExtensionHandler,
    "/inventory": InventoryHandler,
    "/parameters": ParametersHandler,
    "/preflight": PreflightHandler,
    "/preview": PreviewHandler,
    "/runs": RunsHandler,
    "/runs/{id}": RunHandler,
    "/runs/{id}/cancel": CancelHandler,
    "/runs/{id}/log": LogHandler,
    "/runs/{id}/metrics": MetricsHandler,
    "/runs/{id}/rerun": RerunHandler,
    "/runs/{id}/resume": ResumeHandler,
    "/runs/{id}/repair": RepairHandler,
    "/runs/{id}/provenance": ProvenanceHandler,
    "/runs/{id}/points": PointsHandler,
    "/runs/{id}/points/rerun": RerunPointsHandler,
    "/environments": EnvironmentsHandler,
    "/environments/job": EnvironmentJobHandler,
    "/environments/job/stop": StopHandler,
    "/events": EventsHandler,
}


def handlers() -> list[tuple[str, type[RequestHandler]]]:
    """For the web application: patterns below the base URL, and what answers them."""
    exact = [("/siflab" + path.replace("{id}", f"({RUN_ID.pattern})"), handler) for path, handler in ROUTES.items()]
    return [*exact, (r"/siflab/.*", NoSuchRoute)]
