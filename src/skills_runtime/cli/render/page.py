"""One run on a page: head, steps, files, what it waits for, and what to do next."""

from collections.abc import Iterator, Sequence
from typing import TextIO

import msgspec
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.machine import shown_path
from skills_runtime.cli.reading import Page
from skills_runtime.cli.render.console import answers, labelled, spread, talk
from skills_runtime.cli.render.steps import step_lines
from skills_runtime.cli.render.text import between, count, duration, local_time, money, one_line, plural
from skills_runtime.cli.render.waiting import wait_lines
from skills_runtime.cli.render.words import signed
from skills_runtime.cli.waits import CommandFor, command_for, waits_of
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import title_of
from skills_runtime.projections import RunState
from skills_runtime.projections.skill_notes import is_skill_notice, skill_note
from skills_runtime.runs.record import record_of

SHOWN_STEPS = 40
_LABEL = 10


def write_page(page: Page, output: TextIO) -> None:
    """The run as one JSON object: run.json, where it is, what it waits for, its metrics, and what to know besides."""
    state, pending = page.view.state, page.view.pending
    data = msgspec.to_builtins(record_of(state))
    waiting = {
        "kind": state.waiting_kind,
        "message": state.waiting_message,
        "questions": list(pending.questions.values()),
        "approvals": list(pending.approvals.open.values()),
        "unread_messages": page.messages,
    }
    data |= {"path": str(page.root), "waiting": waiting if state.open else None, "metrics": page.metrics.summary()}
    data["notices"] = [skill_note(one) for one in page.skills if is_skill_notice(one)]
    output.write(msgspec.json.format(msgspec.json.encode(data)).decode() + "\n")


def show_page(page: Page, reference: str, *, program: str, no_color: bool) -> None:
    """The run for people; `reference` is how they named it."""
    console = answers(no_color=no_color)
    for line in _page(page, console, command_for(program, reference)):
        console.print(line)
    if page.unbelieved:
        warning = f"notice: not every line of this log can be believed; `{program} verify` says why"
        talk(no_color=no_color).print(Text(warning, style="red"))


def _page(page: Page, console: Console, command: CommandFor) -> Iterator[RenderableType]:
    state = page.view.state
    sign = signed(state.status, state.waiting_kind)
    yield Text.assemble(("run ", "bold"), (state.run_id, "bold cyan"), "  ").append_text(sign)
    yield labelled(_facts(page), indent=2, width=_LABEL)
    yield from _section("skills", _skills(page))
    yield from _section("steps", _steps(page, console))
    yield from _section("files", _files(page, console))
    yield from _section("waiting for", _waiting(page, command))
    yield Text("next", style="bold")
    yield labelled(_next(page, command), indent=2, width=_LABEL)


def _facts(page: Page) -> dict[str, str]:
    state = page.view.state
    took = duration(between(state.started_at, state.completed_at or state.updated_at))
    facts = {
        "task": title_of(page.prompt),
        "reason": state.failure_reason or "",
        "directory": shown_path(page.root),
        "session": f"{state.session_id} · task {state.task_id}" if state.session_id else "",
        "model": f"{state.model} · profile {state.profile_id}" if state.model else "",
        "sandbox": state.workspace_mode,
        "started": f"{local_time(state.started_at)} · took {took}" if state.started_at else "not yet",
        "used": _used(state),
    }
    return {label: one_line(text) for label, text in facts.items() if text}


def _used(state: RunState) -> str:
    cost = state.cost_usd + state.child_cost_usd
    parts = [
        plural(state.turns, "turn"),
        f"{count(state.input_tokens)} tokens in",
        f"{count(state.output_tokens)} out",
        *([f"{count(state.child_tokens)} by sub-agents"] if state.child_tokens else []),
        *([money(cost)] if cost else []),
    ]
    return " · ".join(parts)


def _section(title: str, lines: Sequence[RenderableType]) -> list[RenderableType]:
    return [Text(title, style="bold"), *lines] if lines else []


def _skills(page: Page) -> list[RenderableType]:
    """The notices, all of them, and what else became of skills, each once."""
    lines = {one_line(skill_note(one)): "yellow" if is_skill_notice(one) else "" for one in page.skills}
    return [Padding(Text(line, style=style), (0, 0, 0, 2), expand=False) for line, style in lines.items()]


def _steps(page: Page, console: Console) -> list[Text]:
    steps = page.steps.all
    left_out = len(steps) - SHOWN_STEPS
    before = [Text(f"     {plural(left_out, 'earlier step')}", style="dim")] if left_out > 0 else []
    under_way = "running" if page.view.state.status is RunStatus.RUNNING else "no result"
    shown = (line for step in steps[-SHOWN_STEPS:] for line in step_lines(console, step, under_way=under_way))
    return [*before, *shown]


def _files(page: Page, console: Console) -> list[Text]:
    produced = page.view.files.produced
    names = sorted({*produced, *page.view.state.artifacts}, key=lambda name: (not name.startswith("deliver"), name))
    sizes = {name: _size(record.size) for name, record in produced.items()}
    return [spread(console, Text(f"  {one_line(name)}"), Text(sizes.get(name, ""), "dim")) for name in names]


def _size(size: int) -> str:
    return f"{count(size)}B" if size >= 1000 else f"{size} B"


def _waiting(page: Page, command: CommandFor) -> list[RenderableType]:
    view = page.view
    waits = waits_of(view.state, view.pending, command, page.asked)
    lines = [line for wait in waits for line in wait_lines(wait, indent=2, width=_LABEL)]
    if page.messages:
        told = f"{plural(page.messages, 'message')} to it will be read when it goes on"
        lines.append(Padding(Text(told), (0, 0, 0, 2), expand=False))
    return lines


def _next(page: Page, command: CommandFor) -> dict[str, str]:
    state = page.view.state
    if state.status in (RunStatus.PENDING, RunStatus.RUNNING):
        return {
            "watch it": f"{command('runs tail')} --follow",
            "tell it": f"{command('runs send')} TEXT",
            "go on": f"{command('runs resume')} (if nobody works on it)",
            "end it": command("runs cancel"),
        }
    if state.open:
        return {
            "read it": command("transcript"),
            "tell it": f"{command('runs send')} TEXT",
            "end it": command("runs cancel"),
        }
    verbs = {"read it": "transcript", "check it": "verify", "hand it on": "runs export"}
    return {label: command(verb) for label, verb in verbs.items()}
