"""What became of something that was said to a run: one line for people, or one object for programs."""

import sys

import msgspec

from skills_runtime.cli.render.text import one_line
from skills_runtime.ports import InboxMessage


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a run stands after a decision about it."""

    run_id: str
    status: str
    reason: str = ""
    note: str = ""


def write_receipt(receipt: Receipt | InboxMessage, told: str, following: str = "", *, as_json: bool) -> int:
    """Say what happened, and the command that comes next; the exit code is that of success."""
    if as_json:
        sys.stdout.write(msgspec.json.encode(receipt).decode() + "\n")
        return 0
    sys.stdout.write(f"{one_line(told)}\n")
    if following:
        sys.stdout.flush()
        sys.stderr.write(f"  next: {following}\n")
    return 0
