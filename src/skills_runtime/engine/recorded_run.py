"""One run as its directory records it, readable even if the ledger cannot be opened."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.agent import log_ports
from skills_runtime.errors import NotFound, SkillsRuntimeError
from skills_runtime.events import Event
from skills_runtime.projections import Action, Actions, RunState, RunView, fold
from skills_runtime.render import render_transcript
from skills_runtime.runs import (
    Head,
    RunPaths,
    Verdict,
    build_record,
    export_run,
    follow_lines,
    is_transcript_current,
    page_of,
    read_events,
    read_prompt,
    read_record,
    read_verified,
    read_view,
    verify_run,
    whole_history,
    write_page,
)
from skills_runtime.runs.log import open_for_reading, read_lines
from skills_runtime.sandbox import accept, list_items


class RecordedRun:
    """Reads one run from its directory, whether or not it is being executed."""

    def __init__(self, paths: RunPaths) -> None:
        self.paths = paths

    @property
    def run_id(self) -> str | None:
        """Return the id in its log, or nothing if that is unreadable."""
        try:
            first = next(self.events(), None)
        except SkillsRuntimeError:
            return None
        return first.run_id if first is not None else None

    @property
    def prompt(self) -> str:
        """Return its task, or an empty text if it is missing."""
        try:
            return read_prompt(self.paths.root)
        except NotFound:
            return ""

    @property
    def last_recorded(self) -> int:
        """Return the number of the last event in run.json."""
        try:
            return read_record(self.paths.run_json).last_seq
        except (SkillsRuntimeError, OSError):
            return -1

    def list_quarantined(self) -> list[str]:
        """Return the quarantined files: created by commands, executed by other programs, and not accepted yet."""
        if not self.paths.quarantine.is_dir():
            return []
        return [item.path for _, item in list_items(self.paths.quarantine)]

    def accept_quarantined(self, paths: Sequence[str] = ()) -> list[str]:
        """Restore these quarantined files, or all of them; return their paths."""
        return accept(self.paths.quarantine, [str(Path(path).absolute()) for path in paths])

    def events(self, *, from_seq: int = 0) -> Iterator[Event]:
        """Read the events of its log."""
        return read_events(self.paths, from_seq=from_seq)

    def read_trusted_events(self) -> Iterator[Event]:
        """Read its verified events; all events of a log from before logs were signed."""
        first = next(self.events(), None)
        sealed = first is not None and first.type == "run_created"
        return read_verified(self.paths, log_ports().keys) if sealed else self.events()

    def lines(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Read every complete line of its log from `start` on; an unreadable log is refused first."""
        next(self.events(), None)
        with open_for_reading(self.paths) as fd:
            for number, line in enumerate(read_lines(fd)):
                if number >= start and line.complete:
                    yield number, line.data

    async def follow(self, start: int = 0) -> AsyncGenerator[tuple[int, bytes]]:
        """Read every complete line, and then each new one until the run ends."""
        next(self.events(), None)
        number = start
        async for line in follow_lines(self.paths, from_seq=start):
            yield number, line
            number += 1

    def state(self) -> RunState:
        """Read its state without verifying the log."""
        return fold(self.events(), RunState())

    def view(self) -> RunView:
        """Read its state from its verified log."""
        return read_view(self.paths, log_ports())

    def actions(self) -> list[Action]:
        """Read its messages and calls, without ids and times."""
        return fold(whole_history(self.paths), Actions()).to_list()

    def transcript(self) -> Iterator[str]:
        """Render it as prose, in pieces."""
        return render_transcript(self.events())

    def is_transcript_current(self) -> bool:
        """Return whether its transcript.md matches the log."""
        return is_transcript_current(self.paths, self.events())

    def page(self, language: Literal["en", "zh"] = "en") -> Iterator[str]:
        """Render it as one self-contained HTML page, in pieces."""
        return page_of(self.paths, language)

    def write_page(self, path: Path, language: Literal["en", "zh"] = "en") -> None:
        """Write that page to a file."""
        write_page(self.paths, path, language)

    def export(self, output: Path | None = None, *, with_blobs: bool = False) -> Sequence[Path]:
        """Write its checksums and provenance, and an archive if requested; return the paths, the archive last."""
        return export_run(self.paths.root, output=output, with_blobs=with_blobs)

    def verify(self, last_head: Head | None = None) -> Verdict:
        """Check it against its log, and the log against its key and its last known head."""
        return verify_run(self.paths.root, log_ports().keys, known_head=last_head)


def record_document(state: RunState) -> dict[str, Any]:
    """Return a state as in `run.json`."""
    return msgspec.to_builtins(build_record(state))
