"""The refused requests of jobs, for administrators: the last ones, in bounded memory, and few lines in the log.

Who sends requests without end from one address gets a line in the log now and then with their number, and slow answers.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from siflab_spawner.log_words import safe_log

LAST, LAST_OF_SESSION, SESSIONS, ADDRESSES = 200, 10, 200, 1000
LINES = 10  # in the log for one address within `PERIOD` seconds
PERIOD = 60.0
_LONGEST = 100  # characters of a name that a request brought


@dataclass
class Refusal:
    """`count` requests of the same kind, from the same address, for the same reason, one after the other. Times are
    seconds since the epoch; `user` and `server` are what the request said."""

    kind: str
    address: str
    user: str
    server: str
    why: str
    first: float
    last: float
    count: int = 1

    def same(self, other: "Refusal") -> bool:
        mine, its = ((r.kind, r.address, r.user, r.server, r.why) for r in (self, other))
        return mine == its

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "first": _iso(self.first), "last": _iso(self.last)}


@dataclass
class _Address:
    began: float
    seen: int = 0


class Refusals:
    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.since, self.total = clock(), 0
        self._last: deque[Refusal] = deque(maxlen=LAST)
        self._sessions: OrderedDict[tuple[str, str], deque[Refusal]] = OrderedDict()
        self._addresses: OrderedDict[str, _Address] = OrderedDict()

    def note(self, kind: str, address: str, why: str, user: str = "", server: str = "", known: bool = False) -> str:
        """The line for the log; empty when there were enough of this address. `known`: there is such a session, so its
        last refusals are kept apart and no flood of others pushes them out."""
        now = self._clock()
        self.total += 1
        why = safe_log(why)
        one = Refusal(kind, address, safe_log(user)[:_LONGEST], safe_log(server)[:_LONGEST], why, now, now)
        _add(self._last, one)
        if known:
            kept = self._sessions.setdefault((one.user, one.server), deque(maxlen=LAST_OF_SESSION))
            self._sessions.move_to_end((one.user, one.server))
            _add(kept, one)
            _shorten(self._sessions, SESSIONS)
        more = self._more(address, now)
        if more is None:
            return ""
        whose = f" of {one.user!r} for {one.server!r}" if user else ""
        before = f" ({more} more from there were not logged)" if more else ""
        return f"{kind}{whose} from {address} refused: {why}{before}"

    def as_dict(self) -> dict[str, Any]:
        """The newest first; times are ISO 8601."""
        return {
            "since": _iso(self.since),
            "total": self.total,
            "last": [one.as_dict() for one in reversed(self._last)],
            "sessions": [
                {"user": user, "server": server, "last": [one.as_dict() for one in reversed(kept)]}
                for (user, server), kept in reversed(self._sessions.items())
            ],
        }

    def _more(self, address: str, now: float) -> int | None:
        """How many of this address were left out before this line; None: this one is left out too."""
        known = self._addresses.get(address)
        if known is None or now - known.began >= PERIOD:
            left_out = max(0, known.seen - LINES) if known else 0
            self._addresses[address] = _Address(now, 1)
            self._addresses.move_to_end(address)
            _shorten(self._addresses, ADDRESSES)
            return left_out
        known.seen += 1
        return 0 if known.seen <= LINES else None


def peer(request: Any) -> str:
    """The address at the other end of a request's connection: what a header says anybody can write."""
    address = getattr(getattr(request.connection, "context", None), "address", None)
    return str(address[0]) if isinstance(address, tuple) else str(request.remote_ip)


def _add(kept: deque[Refusal], one: Refusal) -> None:
    if kept and kept[-1].same(one):
        kept[-1].last = one.last
        kept[-1].count += 1
    else:
        kept.append(Refusal(**asdict(one)))


def _shorten(kept: "OrderedDict[Any, Any]", most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="seconds")


refusals = Refusals()
"""Of this Hub, since its start."""
