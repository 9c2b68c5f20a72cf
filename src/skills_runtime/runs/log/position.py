"""A place in a log: everything needed to go on from there."""

import msgspec

from skills_runtime.events import LOG_VERSION


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """After `seq` events, `offset` bytes and the seal `head`."""

    seq: int = 0
    offset: int = 0
    head: str = "0" * 32
    epoch: int = 0
    ended: bool = False
    version: int = LOG_VERSION
    key_id: str = ""
