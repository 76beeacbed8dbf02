"""What is kept of refused claims: bounded, and few lines however many come."""

from siflab_spawner.claims.refusals import ADDRESSES, LAST, LAST_OF_SESSION, LINES, PERIOD, SESSIONS, Refusals

from .conftest import Clock


def test_when_from_where_why_and_how_many():
    clock = Clock()
    kept = Refusals(clock)
    for _ in range(3):
        kept.note("claim", "10.0.0.7", "wrong code", "user1", "gpu", known=True)
        clock.now += 1
    kept.note("claim", "10.0.0.8", "another claimant", "user1", "gpu", known=True)
    told = kept.as_dict()
    assert told["total"] == 4 and [one["count"] for one in told["last"]] == [1, 3]
    assert told["last"][1] == {
        "kind": "claim", "address": "10.0.0.7", "user": "user1", "server": "gpu", "why": "wrong code", "count": 3,
        "first": "1970-01-01T00:16:40+00:00", "last": "1970-01-01T00:16:42+00:00",
    }  # fmt: skip
    [session] = told["sessions"]
    assert (session["user"], session["server"]) == ("user1", "gpu") and session["last"] == told["last"]


def test_a_line_for_each_but_not_for_a_flood():
    clock = Clock()
    kept = Refusals(clock)
    lines = [kept.note("claim", "10.0.0.7", "wrong code", "user1", "") for _ in range(LINES + 90)]
    assert all(lines[:LINES]) and not any(lines[LINES:])
    assert lines[0] == "claim of 'user1' for '' from 10.0.0.7 refused: wrong code"
    assert kept.note("claim", "10.0.0.8", "wrong code"), "another address is heard"
    clock.now += PERIOD
    assert "(90 more from there were not logged)" in kept.note("claim", "10.0.0.7", "wrong code")
    assert kept.as_dict()["total"] == LINES + 92


def test_its_memory_is_bounded_and_a_flood_does_not_push_out_what_sessions_had():
    kept = Refusals(Clock())
    kept.note("ready", "10.0.0.7", "another claimant", "user1", "", known=True)
    for number in range(5000):
        kept.note("claim", f"10.0.{number >> 8}.{number & 255}", "no such user", f"x{number}", "y" * 255)
    told = kept.as_dict()
    assert len(told["last"]) == LAST and len(kept._addresses) == ADDRESSES
    assert [one["user"] for one in told["sessions"]] == ["user1"]
    assert max(len(one["server"]) for one in told["last"]) == 100
    for number in range(SESSIONS + 5):
        for turn in range(LAST_OF_SESSION + 5):
            kept.note("claim", "10.0.0.7", f"because {turn}", f"user{number}", "", known=True)
    told = kept.as_dict()["sessions"]
    assert len(told) == SESSIONS and {len(one["last"]) for one in told} == {LAST_OF_SESSION}


def test_names_write_no_lines_of_their_own():
    line = Refusals(Clock()).note("claim", "10.0.0.7", "no such user", "x\n[I] all is well\x1b[2J")
    assert "\n" not in line and "\x1b" not in line
