"""What a terminal shows: held against a grid of characters, and linear."""

import random
import re

import pytest

from siflab.inside.logs import RunLog
from siflab.inside.terminal import Terminal

BAR = ["\r  0%|   | 0/3", "\r 33%|#  | 1/3", "\r 67%|## | 2/3", "\r100%|###| 3/3"]

CASES = [
    ("", ""),
    ("a\nb\n", "a\nb\n"),
    ("".join(BAR), "100%|###| 3/3"),
    ("".join(BAR) + "\nnext\n", "100%|###| 3/3\nnext\n"),
    ("longer\rshort", "shortr"),
    ("longer\rsh\rx", "xhnger"),
    ("a\r\nb\r\r\nc", "a\nb\nc"),
    ("12%\b\b\b13%", "13%"),
    ("x\b\b\b\by", "y"),
    ("a\nb\b\bc", "a\nc"),
    ("\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"),
    ("\x1b[31mlong\x1b[0m\r\x1b[32mok\x1b[0m", "\x1b[32mok\x1b[0m\x1b[31mng\x1b[0m"),
    ("downloading\r\x1b[Kdone", "done"),
    ("downloading\r\x1b[2Kdone\x1b[?25h", "done"),
    ("outer 0\n\rinner 0\x1b[A\router 1\n\rinner 1\x1b[A\n\n", "outer 1\ninner 1\n"),
    ("a\n\x1b[9Ab", "b\n"),
    ("\x1b[Ax", "x"),
    ("\x1b", "\x1b"),
    ("\x1b[38;5;9mx", "\x1b[38;5;9mx"),
]


@pytest.mark.parametrize(("written", "shown"), CASES, ids=lambda text: ascii(text)[:40])
def test_it_shows_what_a_terminal_shows(written, shown):
    assert Terminal(written).text() == shown
    by_character = Terminal()
    for character in written:
        by_character.write(character)
        by_character.text()  # as when the notebook is saved in between
    assert by_character.text() == shown


def on_a_grid(text):
    rows, row, column = [[]], 0, 0
    for token in re.findall(r"\x1b\[\d*[AK]|.", text, re.S):
        if token == "\r":
            column = 0
        elif token == "\n":
            row, column = row + 1, 0
            if row == len(rows):
                rows.append([])
        elif token[-1] == "A" and token[0] == "\x1b":
            row, column = max(row - int(token[2:-1] or 1), 0), 0
        elif token[-1] == "K" and token[0] == "\x1b":
            rows[row] = [] if token[2:-1] == "2" else rows[row][:column]
            column = len(rows[row]) if token[2:-1] == "2" else column
        else:
            rows[row][column : column + 1] = [token]
            column += 1
    return "\n".join(map("".join, rows))


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_written_in_whatever_pieces(seed):
    chance = random.Random(seed)
    tokens = ["\r", "\n", "\x1b[A", "\x1b[2A", "\x1b[K", "\x1b[2K", "a", "bc", "def", "g" * 9, "\r\n"]
    text = "".join(chance.choice(tokens) for _ in range(chance.randrange(60)))
    terminal, at = Terminal(keep=100), 0
    while at < len(text):
        size = chance.randrange(1, 8)
        terminal.write(text[at : at + size])
        at += size
    assert terminal.text() == on_a_grid(text), ascii(text)


@pytest.mark.parametrize(
    "piece",
    [
        "x\r",
        "\rx",
        "long line of text\rx",
        "x\n\x1b[A",
        "\x1b[31mx\x1b[0m\r",
        "x\n" * 9 + "\x1b[9A",
        "\x1b[K\r",
    ],
)
def test_what_is_overwritten_is_not_kept(piece):
    terminal = Terminal()
    for _ in range(5000):
        terminal.write(piece * 3)
    assert terminal.size < 5000 * len(piece) / 4


def count_steps(piece, count):
    """Characters that are handled, by the sizes of the strings that rows hold."""
    terminal = Terminal("y" * 100_000)
    for n in range(count):
        terminal.write(piece(n))
    return terminal.size


def test_a_short_text_over_a_long_line_does_not_copy_it():
    assert count_steps(lambda n: "\rx", 1000) < 101_000
    assert count_steps(lambda n: "\r" + "x" * (1000 - n), 1000) < 100_000 + 1000 * 1001 / 2 + 1000


LOGS = [
    # what is written, what the log has then, after a while, and after its end
    (["a", "b"], "ab", "ab", "ab"),
    (["a\nb"], "a\nb", "a\nb", "a\nb"),
    (BAR, "", "", "100%|###| 3/3\n"),
    ([*BAR, "\n"], "", "100%|###| 3/3\n", "100%|###| 3/3\n"),
    ([*BAR, "\nnext"], "", "100%|###| 3/3\nnext", "100%|###| 3/3\nnext"),
    (["loss: ", *BAR, "\n"], "loss: ", "loss: \n100%|###| 3/3\n", "loss: \n100%|###| 3/3\n"),
    ([(BAR[0], "stderr"), ("epoch 1\n", "stdout"), (BAR[1], "stderr")], "  0%|   | 0/3\nepoch 1\n", "  0%|   | 0/3\nepoch 1\n", "  0%|   | 0/3\nepoch 1\n 33%|#  | 1/3\n"),
    (["a\r\nb\r\n"], "a\nb\n", "a\nb\n", "a\nb\n"),
    (["x\ny\rz", "\n"], "x\n", "x\nz\n", "x\nz\n"),
    (["\router", "\n", "\rinner", "\x1b[A", "\router 2", "\n", "\rinner 2", "\x1b[A"], "", "", "outer 2\ninner 2\n"),
    (["\router", "\n", "\rinner", "\x1b[A", "\n", "\n", "after\n"], "", "outer\ninner\nafter\n", "outer\ninner\nafter\n"),
    (["\rlong", "\rab  ", "\n"], "", "ab\n", "ab\n"),
    (["\x1b[?25l", "plain\n"], "", "plain\n", "plain\n"),
]  # fmt: skip


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("pieces", "then", "later", "at_the_end"), LOGS, ids=lambda value: ascii(value)[:30])
def test_a_bar_is_one_line_of_the_log(tmp_path, clock, pieces, then, later, at_the_end):
    log, path = RunLog(tmp_path / "run.log", 1), tmp_path / "run.log"
    for piece in pieces:
        log.write(*([piece] if isinstance(piece, str) else piece))
        log.tick()
    assert path.read_text() == then
    clock[0] += 1
    log.tick()
    assert path.read_text() == later
    log.close()
    assert path.read_text() == at_the_end


def test_a_bar_that_moves_for_long_is_shown_now_and_then(tmp_path, clock):
    log = RunLog(tmp_path / "run.log", 1)
    for minute in range(3):
        for n in range(10):
            clock[0] += 6.1
            log.write(f"\r{minute}.{n}")
            log.tick()
    log.close()
    assert (tmp_path / "run.log").read_text() == "0.9\n1.9\n2.9\n2.9\n"
