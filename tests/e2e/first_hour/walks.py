"""The commands of a page, in order, each with what the page says about it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.checkouts import fences_of

WALKED = re.compile(r"bash walk(?: (?P<terminal>2))?(?: (?P<fails>fails))?|python file=(?P<file>\S+)")


@dataclass(frozen=True)
class Step:
    """One block: commands for a terminal, or a file to save."""

    location: str
    code: str
    terminal: int = 1
    fails: bool = False
    file: str = ""


def steps_of(page: Path) -> Iterator[Step]:
    """Yield what a reader of a page does, block by block."""
    for fence in fences_of(page):
        if walked := WALKED.fullmatch(fence.info):
            yield Step(
                fence.location,
                fence.code,
                terminal=int(walked["terminal"] or 1),
                fails=bool(walked["fails"]),
                file=walked["file"] or "",
            )
