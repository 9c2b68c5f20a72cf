"""Events as lines of text: number, time, type, and the one thing worth knowing."""

from typing import Any

from rich.text import Text

from skills_runtime.cli.following import WriteLine
from skills_runtime.cli.reading import decoded
from skills_runtime.cli.render.console import answers, cut
from skills_runtime.cli.render.text import duration, local_time, one_line
from skills_runtime.events import Event, data_of

_TELLING = (
    "message", "failure_reason", "final_output", "task", "text", "question", "answer", "summary", "decision",
    "model", "finish_reason", "name", "tool", "path", "to", "workspace_mode", "profile_id", "reason",
)  # fmt: skip
"""Fields of payloads in the order of how much they tell."""
_TEXT_CHARS = 2000


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
    style = "red" if _went_wrong(event) else ""
    return Text.assemble(
        (f"{event.seq:>5}  ", "dim"),
        (f"{local_time(event.timestamp, form='%H:%M:%S')}  ", "dim"),
        (f"{one_line(event.type):<22}  ", style or "bold"),
        (told(event), style),
    )


def told(event: Event) -> str:
    """The one thing worth knowing about an event."""
    data = data_of(event.payload)
    if event.type == "tool_call_finished":
        return _result(data)
    if event.type == "file_operation":
        done = "" if data.get("ok") else f"  {data.get('error')}"
        return one_line(f"{data.get('op')} {data.get('path')}{done}")
    if event.type == "tool_call_requested":
        words = (str(value) for value in data.get("arguments", {}).values() if isinstance(value, str))
        return cut(one_line(f"{data.get('name')} {' '.join(words)}"[:_TEXT_CHARS]), 200)
    if event.type == "llm_usage":
        return f"{data.get('input_tokens', 0)} tokens in · {data.get('output_tokens', 0)} out"
    found = next((data[name] for name in _TELLING if data.get(name)), "")
    return cut(one_line(str(found)[:_TEXT_CHARS]), 200)


def _result(data: dict[str, Any]) -> str:
    result: dict[str, Any] = data.get("result") or {}
    outcome = "ok" if result.get("ok") else str(result.get("error_kind") or "failed")
    return one_line(f"{data.get('tool')}  {outcome}  {duration(result.get('duration_ms') or 0)}")


def _went_wrong(event: Event) -> bool:
    data = data_of(event.payload)
    if event.type == "tool_call_finished":
        result: dict[str, Any] = data.get("result") or {}
        return not result.get("ok")
    return event.type == "run_failed" or (event.type == "file_operation" and not data.get("ok"))
