"""Runs for people and programs: lists of them, one on a page, its events line by line, and what verification found."""

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import msgspec
from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skills_runtime.cli.event_text import Steps, step_lines, told
from skills_runtime.cli.output import answers, cut, labelled, signed, spread, talk
from skills_runtime.cli.state import open_service, shown_path
from skills_runtime.cli.text import between, count, duration, local_time, money, plural, short_id
from skills_runtime.cli.waits import CommandFor, command_for, wait_lines, waits_of
from skills_runtime.engine import RecordedRun, RunService
from skills_runtime.engine.recorded_run import record_document
from skills_runtime.errors import LogCorrupt, SkillsRuntimeError
from skills_runtime.events import Event, Payload, data_of, decode_event
from skills_runtime.events.payloads import HumanRequest
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Problem, RunRow
from skills_runtime.projections import Metrics, RunState, RunView
from skills_runtime.render import is_skill_notice, skill_note
from skills_runtime.runs import Finding, Verdict
from skills_runtime.text import readable_line, title_of

WriteLine = Callable[[bytes, int], None]
"""Takes a line without its newline, and its number from 0 on."""
SHOWN_STEPS = 40
_LABEL = 10
_TITLE = "task"
_COLUMNS: dict[str, JustifyMethod] = {
    "run": "left", "status": "left", _TITLE: "left", "started": "left", "time": "right", "tokens": "right",
}  # fmt: skip
Kinds = Mapping[str, str]
"""What runs wait for, by their id."""
_WAITING = (RunStatus.WAITING_FOR_USER, RunStatus.REVIEW_REQUIRED, RunStatus.REVISION_REQUIRED)
_NARROW_COLUMNS = 3
_ID_CELLS = 24
_WIDE = 76
"""Cells from which on a list has room for times and numbers."""


class Page(msgspec.Struct):
    """Everything a page about a run shows."""

    root: Path
    prompt: str = ""
    unbelieved: bool = False
    """Whether run.json knows of more events than the verified part of the log has."""
    view: RunView = msgspec.field(default_factory=RunView)
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    steps: Steps = msgspec.field(default_factory=Steps)
    asked: dict[str, HumanRequest] = {}
    """The questions, whole, by the call that asked them."""
    skills: list[Payload] = []
    """What became of skills, in the order of the log."""
    messages: int = 0
    """How many messages to the run it has not read yet."""

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        if isinstance(event.payload, HumanRequest):
            self.asked[event.payload.call_id] = event.payload
        if skill_note(event.payload):
            self.skills.append(event.payload)
        self.view.apply(event)
        self.metrics.apply(event)
        self.steps.apply(event)


def read_page(run: RecordedRun) -> Page:
    """The page of a run."""
    page = Page(run.paths.root)
    for event in run.believed_events():
        page.apply(event)
    page.prompt = run.prompt or page.view.state.task
    page.messages = _messages(page.view.state) if page.view.state.open else 0
    page.unbelieved = run.last_recorded > page.view.state.last_seq
    return page


def decoded(line: bytes, number: int) -> Event:
    """One line of a log as an event."""
    try:
        return decode_event(line, index=number)
    except msgspec.MsgspecError as error:
        raise LogCorrupt(f"line {number + 1} of the log is not an event") from error


def _messages(state: RunState) -> int:
    try:
        with open_service() as service:
            waiting = service.ledger.inbox.pending(state.run_id)
    except SkillsRuntimeError:
        return 0  # a page can be read where the ledger cannot
    return sum(message.position > state.inbox_position for message in waiting)


def copy_lines(run: RecordedRun, start: int, write: WriteLine) -> None:
    """Every complete line from number `start` on."""
    for number, line in run.lines(start):
        write(line, number)


def follow_log(run: RecordedRun, start: int, write: WriteLine) -> None:
    """The same, and then every line that comes, until the run ends."""

    async def follow() -> None:
        async for number, line in run.follow(start):
            write(line, number)

    # Whoever only looks may be stopped anywhere: Ctrl-C ends the process at once instead of waiting for the watcher.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(follow())
    finally:
        signal.signal(signal.SIGINT, before)


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
        (f"{readable_line(event.type):<22}  ", style or "bold"),
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


def write_verdict(verdict: Verdict, output: TextIO) -> None:
    """The verdict as one JSON object."""
    output.write(msgspec.json.encode({"ok": verdict.ok, **msgspec.to_builtins(verdict)}).decode() + "\n")


def show_verdict(verdict: Verdict, console: Console) -> None:
    """The verdict for people."""
    for finding in verdict.findings:
        console.print(_line(finding))
    if verdict.ok:
        how = "authentic" if verdict.authentic else "authenticity not checked"
        text = f"✓ verified: {plural(verdict.events, 'event')}, {how}"
        console.print(Text(text, style="green"))
    else:
        errors = sum(finding.severity == "error" for finding in verdict.findings)
        console.print(Text(f"✗ not verified: {plural(errors, 'finding')}", style="bold red"))


def _line(finding: Finding) -> Text:
    mark, style = ("✗", "red") if finding.severity == "error" else ("note:", "dim")
    return Text.assemble((f"{mark} {readable_line(finding.where)}  ", style), readable_line(finding.message))


def write_page(page: Page, output: TextIO) -> None:
    """The run as one JSON object: run.json, where it is, what it waits for, its metrics, and what to know besides."""
    state, pending = page.view.state, page.view.pending
    data = record_document(state)
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
    lines = {readable_line(skill_note(one)): "yellow" if is_skill_notice(one) else "" for one in page.skills}
    yield from _section(
        "skills", [Padding(Text(line, style=style), (0, 0, 0, 2), expand=False) for line, style in lines.items()]
    )
    yield from _section("steps", _steps(page, console))
    produced = page.view.files.produced
    names = sorted({*produced, *page.view.state.artifacts}, key=lambda name: (not name.startswith("deliver"), name))
    sizes = {name: _size(record.size) for name, record in produced.items()}
    yield from _section(
        "files", [spread(console, Text(f"  {readable_line(name)}"), Text(sizes.get(name, ""), "dim")) for name in names]
    )
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
    return {label: readable_line(text) for label, text in facts.items() if text}


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


def _steps(page: Page, console: Console) -> list[Text]:
    steps = page.steps.all
    left_out = len(steps) - SHOWN_STEPS
    before = [Text(f"     {plural(left_out, 'earlier step')}", style="dim")] if left_out > 0 else []
    under_way = "running" if page.view.state.status is RunStatus.RUNNING else "no result"
    shown = (line for step in steps[-SHOWN_STEPS:] for line in step_lines(console, step, under_way=under_way))
    return [*before, *shown]


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


def show_rows(rows: Sequence[RunRow], *, kinds: Kinds, program: str, no_color: bool) -> None:
    """Runs, one line each; those that wait say what for."""
    if not rows:
        talk(no_color=no_color).print(Text(f"no runs found; `{program} demo` makes one, `--all` looks everywhere"))
        return
    console = answers(no_color=no_color)
    console.print(_table(console, rows, kinds))
    _mention_waiting(rows, program=program, no_color=no_color)


def show_tasks(rows: Sequence[RunRow], *, kinds: Kinds, program: str, no_color: bool) -> None:
    """Runs under the task they are tries of."""
    if not rows:
        show_rows(rows, kinds=kinds, program=program, no_color=no_color)
        return
    console = answers(no_color=no_color)
    tasks: dict[str, list[RunRow]] = {}
    for row in rows:
        tasks.setdefault(row.task_id, []).append(row)
    for task_id, runs in tasks.items():
        console.print(Text.assemble(("task ", "bold"), task_id, (f"  {plural(len(runs), 'run')}", "dim")))
        console.print(_table(console, runs, kinds))
    _mention_waiting(rows, program=program, no_color=no_color)


def write_rows(rows: Iterable[RunRow], output: BinaryIO) -> None:
    """Runs as JSON, one object a line."""
    for row in rows:
        output.write(msgspec.json.encode(row) + b"\n")


def show_problems(problems: Sequence[Problem], *, program: str, no_color: bool) -> None:
    """Say that some runs could not be read."""
    if problems:
        text = f"notice: {plural(len(problems), 'run')} could not be read; `{program} ledger rebuild` says why"
        talk(no_color=no_color).print(Text(text, style="dim"))


def _mention_waiting(rows: Sequence[RunRow], *, program: str, no_color: bool) -> None:
    waiting = sum(row.status in _WAITING for row in rows)
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        asked = any(row.pending_approvals for row in rows)
        where = "approvals list` shows what to approve" if asked else "runs show RUN` says what for"
        text = f"{plural(waiting, 'run')} {verb} for you; `{program} {where}"
        talk(no_color=no_color).print(Text(text, style="dim"))


def _table(console: Console, rows: Sequence[RunRow], kinds: Kinds) -> Table:
    """One line a run; the title takes the room the other columns leave."""
    lines = [_cells(row, kinds.get(row.run_id), is_cut=console.is_terminal) for row in rows]
    headings = list(_COLUMNS) if console.width >= _WIDE else list(_COLUMNS)[:_NARROW_COLUMNS]
    others = [index for index, name in enumerate(headings) if name != _TITLE]
    taken = sum(max(len(headings[index]), *(line[index].cell_len for line in lines)) + 2 for index in others)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in headings:
        table.add_column(name, no_wrap=True, justify=_COLUMNS[name])
    for line in lines:
        title = line[headings.index(_TITLE)]
        title.plain = cut(title.plain, max(console.width - taken, 8))
        table.add_row(*line[: len(headings)])
    return table


def _cells(row: RunRow, waiting_kind: str | None, *, is_cut: bool) -> list[Text]:
    name = short_id(row.run_id)
    return [
        Text(cut(name, _ID_CELLS) if is_cut else name, style="cyan"),
        _status(row, waiting_kind),
        Text(readable_line(row.title)),
        Text(local_time(row.started_at), style="dim"),
        Text(duration(between(row.started_at, row.completed_at)), style="dim"),
        Text(count(row.input_tokens + row.output_tokens), style="dim"),
    ]


def _status(row: RunRow, waiting_kind: str | None) -> Text:
    status = signed(row.status, waiting_kind)
    asked = plural(row.pending_approvals, "approval") if row.pending_approvals else ""
    return status.append(f" · {asked}") if asked else status


def waiting_kinds(service: RunService, rows: Sequence[RunRow]) -> dict[str, str]:
    """What each run of a list that waits for somebody waits for, as far as its log can be read."""
    kinds: dict[str, str] = {}
    for row in rows:
        if row.status is RunStatus.WAITING_FOR_USER:
            with suppress(SkillsRuntimeError, OSError):
                kinds[row.run_id] = service.view(row.path).state.waiting_kind or ""
    return kinds


def run_problems(problems: Iterable[Problem]) -> list[Problem]:
    """The problems of runs; a directory that merely stands beside runs is none."""
    return [one for one in problems if not _is_no_run(one.path)]


def _is_no_run(path: Path) -> bool:
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError:
        return False
    return not names & {"events.jsonl", "run.json"}


def check_run(run: RecordedRun) -> tuple[Verdict, list[str]]:
    """The verdict on a run, and what could not be asked."""
    if run.run_id is None:  # verification itself says what is wrong with the log
        return run.verify(), []
    try:
        with open_service() as service:
            head = service.last_seen(run)
    except SkillsRuntimeError as error:
        return run.verify(), [f"the ledger could not be asked how long the log was: {error.message}"]
    return run.verify(head), []
