"""Moments as the files and answers of the server tell them."""

from datetime import datetime

from skills_runtime.ports import Clock


def milliseconds(clock: Clock) -> int:
    """The milliseconds since 1970."""
    return int(datetime.fromisoformat(clock.now()).timestamp() * 1000)
