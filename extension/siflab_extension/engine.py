"""The functions of `siflab.runs`, as this server's user, each call in a worker thread."""

import threading
from collections.abc import Callable
from logging import Logger, LoggerAdapter
from typing import Any, TypeVar

from siflab.errors import Internal, SiflabError
from siflab.text import Text
from siflab_extension.events import FollowMetrics
from siflab_extension.workroom import Workroom

T = TypeVar("T")


def load_runs() -> Any:
    """The module `siflab.runs`; imported late, because it costs time that a starting server does not have."""
    import siflab.runs

    return siflab.runs


class Engine:
    """Calls the engine without blocking the event loop; raises `SiflabError` and nothing else.

    The viewer (site.yaml, the session's facts) is made at the first call and kept. A failure to make it is not kept,
    so that a corrected site.yaml is taken up without a restart.
    """

    def __init__(self, workroom: Workroom, log: "Logger | LoggerAdapter[Any]") -> None:
        self._workroom = workroom
        self._log = log
        self._viewer: Any = None
        self._viewer_lock = threading.Lock()

    async def call(self, work: Callable[[Any, Any], T]) -> T:
        """`work(runs, viewer)` in a thread, where `runs` is the module `siflab.runs`."""
        return await self._workroom.run(lambda: self._guarded(work))

    async def list_runs(self) -> dict[str, Any]:
        """All runs and how Slurm does, as in the answer to `GET runs`."""
        answer: dict[str, Any] = await self.call(lambda runs, viewer: runs.list_runs(viewer).as_dict())
        return answer

    async def read_log(self, run_id: str, attempt: int | None, offset: int) -> dict[str, Any]:
        """One `LogPiece`, from the byte `offset` on (negative: that many bytes before the end)."""
        piece: dict[str, Any] = await self.call(
            lambda runs, viewer: runs.read_log(viewer, run_id, attempt, offset).as_dict()
        )
        return piece

    async def read_metrics(self, wish: FollowMetrics, position: str | None) -> dict[str, Any]:
        """One `MetricsPiece`."""
        piece: dict[str, Any] = await self.call(
            lambda runs, viewer: runs.follow_metrics(viewer, wish.id, wish.attempt, wish.point, position).as_dict()
        )
        return piece

    def close(self) -> None:
        self._workroom.close()

    def _guarded(self, work: Callable[[Any, Any], T]) -> T:
        try:
            runs = load_runs()
            return work(runs, self._viewer_of(runs))
        except SiflabError:
            raise
        except Exception as error:
            self._log.exception("siflab: an error that has no message of its own")
            kind = type(error).__name__
            raise Internal(
                Text(
                    f"Siflab failed unexpectedly ({kind}: {error}). The server's log has the details; "
                    "please report them.",
                    f"Siflab 遇到意外错误（{kind}：{error}）。详情见服务器日志，请上报。",
                )
            ) from error

    def _viewer_of(self, runs: Any) -> Any:
        with self._viewer_lock:
            if self._viewer is None:
                self._viewer = self._make_viewer(runs)
            return self._viewer

    def _make_viewer(self, runs: Any) -> Any:
        from siflab.config import SiteError

        try:
            return runs.Viewer.here()
        except SiteError as error:
            raise Internal(error.message) from error
