"""Changing a run directory as somebody would who has its key, and as somebody would who has not."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from skills_runtime.events.envelope import MAC_TAIL_BYTES
from skills_runtime.runs import KeyRing, RunPaths
from skills_runtime.runs.log.chain import Chain
from tests.support.runs import decoded, lines_of

Change = Callable[[dict[str, Any]], None]


def rewrite_line(paths: RunPaths, number: int, change: Change) -> None:
    """Change one event of the log and leave its seal as it was."""
    lines = lines_of(paths)
    tail = lines[number].removesuffix(b"\n")[-MAC_TAIL_BYTES:]
    data = decoded(lines[number])
    change(data)
    del data["mac"]
    lines[number] = msgspec.json.encode(data).removesuffix(b"}") + tail + b"\n"
    paths.events.write_bytes(b"".join(lines))


def seal_again(paths: RunPaths, keys: KeyRing) -> None:
    """Seal every line anew with the key of this machine."""
    chain = Chain(keys.current().secret)
    bodies = [line.removesuffix(b"\n")[:-MAC_TAIL_BYTES] for line in lines_of(paths)]
    paths.events.write_bytes(b"".join(body + b',"mac":"' + chain.seal(body) + b'"}\n' for body in bodies))


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()
