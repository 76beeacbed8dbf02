"""What came from outside, in a line of the Hub's log."""

_LONGEST = 500


def safe_log(words: object) -> str:
    """Without line ends or control characters, so that nobody writes lines of their own into the log, and bounded."""
    return repr(str(words)[:_LONGEST])[1:-1]
