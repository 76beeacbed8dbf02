"""Reading what a command prints, but not without end: a Hub's memory must not depend on what a command does."""

import asyncio

STDOUT_LIMIT = 256 * 2**20  # bytes; a squeue of a million jobs
STDERR_LIMIT = 2**20


class TooMuch(ValueError):
    """A command printed more than is read; it is to be ended, and proves nothing."""


async def communicate(
    process: asyncio.subprocess.Process,
    data: bytes | None,
    stdout_limit: int = STDOUT_LIMIT,
    stderr_limit: int = STDERR_LIMIT,
) -> tuple[bytes, bytes]:
    """What `process` prints on standard output and standard error until it ends. Raises TooMuch."""
    assert process.stdout is not None and process.stderr is not None
    parts = [
        asyncio.ensure_future(_read(process.stdout, stdout_limit, "standard output")),
        asyncio.ensure_future(_read(process.stderr, stderr_limit, "standard error")),
        asyncio.ensure_future(_feed(process, data)),
    ]
    try:
        out, err, _ = await asyncio.gather(*parts)
    finally:
        for part in parts:
            part.cancel()
    await process.wait()
    return out or b"", err or b""


async def _read(stream: asyncio.StreamReader, limit: int, name: str) -> bytes | None:
    chunks, size = [], 0
    while chunk := await stream.read(2**16):
        size += len(chunk)
        if size > limit:
            raise TooMuch(
                f"printed more than {limit // 2**20 or limit} {'MiB' if limit >= 2**20 else 'bytes'} on its {name}"
            )
        chunks.append(chunk)
    return b"".join(chunks)


async def _feed(process: asyncio.subprocess.Process, data: bytes | None) -> None:
    if process.stdin is None:
        return None
    try:
        if data:
            process.stdin.write(data)
            await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # it ended without reading all of it
    process.stdin.close()
