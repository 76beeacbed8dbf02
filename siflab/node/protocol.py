"""What client and bridge say to each other over the Unix socket: frames of a kind (one byte), a length (four bytes, big
end first) and a payload.

========= ========== ===================================================================================================
from      kind       payload
========= ========== ===================================================================================================
client    REQUEST    first, once: JSON with ``argv`` (the command's name first), ``cwd`` (inside), ``terminal`` ([rows,
                     columns] if standard output is one, else null), ``environment`` (the little that is passed on), and
                     ``script`` (null, or {"at": its place in argv, "size": bytes})
client    SCRIPT     the job script in pieces, right after the request, `size` bytes in all
client    INPUT      a piece of standard input; empty at its end
client    SIGNAL     one byte: a signal's number
bridge    OUTPUT     a piece of standard output
bridge    ERRORS     a piece of standard error
bridge    WARNING    JSON with ``en`` and ``zh``, for standard error
bridge    EXIT       four bytes, signed: the exit code, 128 + n after signal n; the last frame
bridge    FAILURE    JSON with ``code``, ``en``, ``zh``: the command was not run; the last frame
========= ========== ===================================================================================================
"""

import json
import struct

REQUEST, SCRIPT, INPUT, SIGNAL = b"R", b"P", b"I", b"S"
OUTPUT, ERRORS, WARNING, EXIT, FAILURE = b"O", b"E", b"W", b"X", b"F"

SOCKET = "bridge.sock"
FRAME_LIMIT = 1 << 20
SCRIPT_LIMIT = 8 << 20  # Slurm's own limit is 4 MiB (max_script_size)
PIECE = 1 << 16
PREFERENCES = frozenset(  # variables that a client passes on without being asked: how output is to look
    "COLUMNS LINES TZ LANG LC_ALL LC_TIME SLURM_TIME_FORMAT SQUEUE_FORMAT SQUEUE_FORMAT2 SQUEUE_SORT SINFO_FORMAT "
    "SINFO_SORT SACCT_FORMAT".split()
)
_HEAD = struct.Struct("!cI")
_CODE = struct.Struct("!i")


class Broken(Exception):
    """The other side says what is none of this, or went away."""


class Gone(Broken):
    """The other side went away."""


def send(connection, kind, payload=b""):
    """Raises OSError when the other side is gone."""
    connection.sendall(_HEAD.pack(kind, len(payload)) + payload)


def receive(connection):
    """(kind, payload). Raises Broken."""
    kind, length = _HEAD.unpack(_exactly(connection, _HEAD.size))
    if length > FRAME_LIMIT:
        raise Broken("a frame of %d bytes" % length)
    return kind, _exactly(connection, length)


def encode(value):
    """As JSON; names that are no UTF-8 survive as lone surrogates."""
    return json.dumps(value).encode("ascii")


def decode(payload):
    """The JSON object in a payload. Raises Broken."""
    try:
        value = json.loads(payload.decode("ascii"))
    except ValueError as error:
        raise Broken("no JSON: %s" % error)
    if not isinstance(value, dict):
        raise Broken("no JSON object")
    return value


def encode_code(code):
    return _CODE.pack(code)


def decode_code(payload):
    return _CODE.unpack(payload)[0]


def _exactly(connection, count):
    pieces = []
    while count:
        try:
            piece = connection.recv(min(count, PIECE))
        except OSError as error:
            raise Gone(str(error))
        if not piece:
            raise Gone("the other side went away")
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
