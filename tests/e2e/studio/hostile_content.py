"""Content that would like to be more than text: in every field that a run, a request, a skill or a session has."""

import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from skills_runtime.events import PAYLOAD_TYPES, Payload
from skills_runtime.events.payloads import (
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    RunFailed,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.runs import Run, finish_run
from tests.e2e.studio.seeded import open_run
from tests.e2e.studio.services import DRAWING, HOSTILE_PAGE
from tests.support.model_server import Answer, calls, says

SENTINEL = "window.top.hit=1;window.hit=1;alert(1)"
TEXT = (
    f'<img src="http://evil.example/p.png" onerror="{SENTINEL}"><script>{SENTINEL}</script>'
    f'<svg onload="{SENTINEL}"></svg><iframe srcdoc="<script>{SENTINEL}</script>"></iframe>'
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 "
    "\u202egnp.exe\u2066 zero\u200bwidth \x00 \x07 \x9b31m"
    f'\n\n[click](javascript:{SENTINEL}) ![pic](http://evil.example/m.png) <a href="javascript:{SENTINEL}">here</a>'
    '\n\n<style>body{display:none}</style><base href="http://evil.example/"><meta http-equiv="refresh" content="0">'
    "\n\n{{constructor.constructor('alert(1)')()}} ${alert(1)} %0a&lt;b&gt; $& $1"
)
"""Tags, handlers, escapes, characters that hide or turn text, and links and pictures from elsewhere."""
FRAMED = f"{HOSTILE_PAGE.replace('AWAY', 'http://evil.example')}<script>{SENTINEL}</script><p>The page is shown.</p>"
VISIBLE = "‹U+202E›gnp.exe‹U+2066›"
LONG = "\u202e<b>" + "long" * 250_000
NAMES = ("__proto__", "constructor", "toString")
"""Words that lead somewhere in every object of JavaScript."""
FILES = 10_000
PATCH = (
    "*** Begin Patch\n"
    + "".join(f"*** Add File: many/{n}.txt\n+<b>{n}</b>\n" for n in range(FILES))
    + "*** End Patch\n"
)
_ENDS = {"run_created", "run_completed", "run_failed", "run_cancelled", "run_state_changed"}
_LINKS = {
    "call_id": "call_nasty",
    "approval_id": "approval_nasty",
    "approval_key": "key_nasty",
    "child_run_id": "run_child",
}


def nasty_value(kind: Any, text: str) -> Any:
    """Something of this type with the text wherever text may be."""
    origin, parts = get_origin(kind) or kind, [part for part in get_args(kind) if part is not type(None)]
    if origin in (Union, types.UnionType, Literal):
        return parts[0] if origin is Literal else nasty_value(parts[0], text)
    if origin is list:
        return [nasty_value(parts[0], text)]
    if origin is dict:
        inner = nasty_value(parts[1], text)
        return {text: inner, **dict.fromkeys(("ok", "text", "step", "status", "level", "reason", "id"), inner)}
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return nasty(origin, text)
    numbers: dict[Any, Any] = {bool: False, int: 7, float: 7.0}
    return numbers.get(kind, text)


def nasty(kind: type[Any], text: str) -> Any:
    """A payload whose every text is hostile; only what ties it to its call is left alone."""
    fields = msgspec.structs.fields(kind)
    return kind(
        **{
            field.name: _LINKS[field.name] if field.name in _LINKS else nasty_value(field.type, text)
            for field in fields
            if not field.name.endswith("_blob") and field.name != "blob"
        }
    )


def every_payload(text: str) -> list[Payload]:
    """One event of every kind that may stand within a run, and what makes it into a transcript."""
    within = sorted((kind for kind in PAYLOAD_TYPES.values() if kind.event_type not in _ENDS), key=_sort_key)
    deltas = [LlmResponseDelta(delta_type=kind, text=text) for kind in ("reasoning", "text")]
    return [nasty(LlmRequestStarted, text), *deltas, *(nasty(kind, text) for kind in within)]


def _sort_key(kind: type[Payload]) -> int:
    """A call is asked for before anything is said of it, and settled last."""
    order = ("tool_call_requested", "llm_response_finished", "tool_call_started", "approval_requested")
    return order.index(kind.event_type) if kind.event_type in order else 8 + (kind is ToolCallFinished)


def write_runs(home: Path) -> None:
    """A run with every kind of event, one with words of JavaScript, one with a very long line, one with many files."""
    _filled(open_run(home, "run_nasty"), every_payload(TEXT), TEXT)
    _filled(open_run(home, "run_words"), [payload for name in NAMES for payload in every_payload(name)], "__proto__")
    output = {"ok": False, "stdout": LONG, "stderr": LONG, "data": {"line": LONG}}
    _filled(open_run(home, "run_line"), [LlmResponseDelta(delta_type="text", text=LONG), *_call(LONG, output)], LONG)
    files = open_run(home, "run_files")
    for name, text in (("page.html", FRAMED), ("drawing.svg", DRAWING), ("report.md", TEXT), ("table.csv", TEXT)):
        (files.paths.root / "deliverables" / name).write_text(text)
    _filled(files, _call("", {"ok": True}, input=PATCH), "done")


def _call(command: str, result: dict[str, Any], **more: str) -> list[Payload]:
    arguments = {"command": command} if command else more
    tool = "look" if command else "apply_patch"
    return [
        ToolCallRequested(call_id="call_big", tool=tool, name=tool, arguments=arguments),
        LlmResponseFinished(finish_reason="tool_calls", calls=["call_big"]),
        ToolCallStarted(call_id="call_big", tool=tool),
        ToolCallFinished(call_id="call_big", tool=tool, result=result),
    ]


def _filled(run: Run, events: list[Payload], message: str) -> None:
    for payload in events:
        run.append(payload)
    run.commit()
    finish_run(run, RunFailed(error_kind=message[:2000], message=message, details={"text": message}))
    run.close()


def write_skills(home: Path) -> None:
    """A skill whose texts are hostile, with files that are, too."""
    directory = home / ".agents" / "skills" / "nasty"
    directory.mkdir(parents=True)
    hidden = TEXT.replace("\x00", "").replace("\x07", "").replace("\x9b", "").replace("\x1b", "")
    quoted = msgspec.json.encode(hidden.replace("\n", " ")[:900]).decode()
    (directory / "SKILL.md").write_text(f"---\nname: nasty\ndescription: {quoted}\n---\n# Skill\n\n{TEXT}\n")
    (directory / "page.html").write_text(FRAMED)
    broken = home / ".agents" / "skills" / "<img src=x onerror=alert(1)>"
    broken.mkdir()
    (broken / "SKILL.md").write_text(f"---\nname: {quoted}\n---\n{TEXT}")


def obeying(request: dict[str, Any]) -> Answer:
    """The answers of a model that is hostile itself."""
    messages: list[dict[str, Any]] = request["messages"]
    task = str(next(message["content"] for message in messages if message["role"] == "user"))
    if any(message["role"] == "tool" for message in messages):
        return says(TEXT)
    if task.startswith("ASK"):
        return calls(("ask_human", {"question": TEXT, "choices": [TEXT, "plain"], "context": TEXT}), text=TEXT)
    if task.startswith("SAY"):
        return says(TEXT)
    return calls(("shell_command", {"command": f"echo {TEXT!r}", "justification": TEXT}), text=TEXT)
