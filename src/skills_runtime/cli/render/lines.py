"""Events as lines of text: number, time, type, and the one thing worth knowing."""

from typing import Any

from rich.text import Text

from skills_runtime.cli.following import WriteLine
from skills_runtime.cli.reading import decoded
from skills_runtime.cli.render.console import answers
from skills_runtime.cli.render.text import local_time, one_line
from skills_runtime.cli.render.told import told
from skills_runtime.events import Event, data_of
from skills_runtime.projections.skill_notes import is_skill_notice


def line_writer(*, no_color: bool) -> WriteLine:
    """Writes each event on one line."""
    console = answers(no_color=no_color)

    def write(line: bytes, number: int) -> None:
        text = event_line(decoded(line, number))
        if console.is_terminal:
            text.truncate(console.width, overflow="ellipsis")
        console.print(text)
        console.file.flush()

    return write


def event_line(event: Event) -> Text:
    """One event on one line."""
    style = "red" if _went_wrong(event) else "yellow" if is_skill_notice(event.payload) else ""
    return Text.assemble(
        (f"{event.seq:>5}  ", "dim"),
        (f"{local_time(event.timestamp, form='%H:%M:%S')}  ", "dim"),
        (f"{one_line(event.type):<22}  ", style or "bold"),
        (told(event), style),
    )


def _went_wrong(event: Event) -> bool:
    data = data_of(event.payload)
    if event.type == "tool_call_finished":
        result: dict[str, Any] = data.get("result") or {}
        return not result.get("ok")
    if event.type == "network_decision":
        return data.get("verdict") == "deny"
    return event.type == "run_failed" or (event.type == "file_operation" and not data.get("ok"))
