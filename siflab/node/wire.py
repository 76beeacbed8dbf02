"""What bridge and client say to each other over the Unix socket.

The client sends one JSON request ``{"argv", "cwd", "window", "env"}``; then both send frames: one letter, four bytes of
length, payload. I standard input (empty: its end), S a signal number; O and E output, X the exit code, F a failure's
words.
"""

import json
import struct

REQUEST_LIMIT = 1 << 20
SOCKET = "bridge.sock"


def receive_exactly(connection, count):
    """`count` bytes. Raises EOFError when the other side went away."""
    pieces = []
    while count:
        piece = connection.recv(min(count, 1 << 16))
        if not piece:
            raise EOFError
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def send_request(connection, request):
    data = json.dumps(request).encode("utf-8")
    connection.sendall(struct.pack("!I", len(data)) + data)


def receive_request(connection):
    """The request. Raises ValueError when it is too long or is none."""
    (length,) = struct.unpack("!I", receive_exactly(connection, 4))
    if length > REQUEST_LIMIT:
        raise ValueError("the command line is longer than %d bytes" % REQUEST_LIMIT)
    request = json.loads(receive_exactly(connection, length).decode("utf-8", "surrogatepass"))
    argv = request.get("argv") if isinstance(request, dict) else None
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) and "\0" not in word for word in argv):
        raise ValueError("a request needs argv, a list of strings")
    return request


def frame(letter, payload=b""):
    return letter + struct.pack("!I", len(payload)) + payload


def receive_frame(connection):
    """(letter, payload). Raises EOFError."""
    head = receive_exactly(connection, 5)
    (length,) = struct.unpack("!I", head[1:])
    if length > 1 << 24:
        raise EOFError
    return head[:1], receive_exactly(connection, length)
