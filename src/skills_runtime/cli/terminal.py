"""Questions and approvals at the terminal."""

import asyncio
import os
import select
import signal
import sys
import termios
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.approval_text import (
    LABEL,
    call_lines,
    card_lines,
    describe_rule,
    fact_lines,
    rule_paragraph,
)
from skills_runtime.cli.approvals import parse_arguments
from skills_runtime.cli.language import translate, translate_label
from skills_runtime.cli.options import Approving, ViewOptions, display_path, login_name
from skills_runtime.cli.output import (
    counted,
    format_duration,
    labeled_table,
    local_time,
    short_approval_id,
    stderr_console,
)
from skills_runtime.engine import Interaction, approve_with_rule, build_rule, build_rules, resolve_choice
from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.events import Event
from skills_runtime.ports import ApprovalRequest, Decision, Parked, Question
from skills_runtime.safety.approvals import RuleScope
from skills_runtime.safety.policy import Rule
from skills_runtime.text import readable, readable_line

Pause = Callable[[], AbstractAsyncContextManager[None]]
"""Suppresses other output while a `with` block lasts."""

_CHUNK_BYTES = 4096
YES = "yes"
YES_COMMANDS = frozenset({"y", YES, "s", "f", "a"})
DETAIL_COMMANDS = frozenset({"?", "v"})
MIN_PAGE_ROWS = 8
ONCE, SESSION = Decision(decision="approved"), Decision(decision="approved_for_session")
INDENT = 5


def is_interactive() -> bool:
    """Return whether stdin and stderr are terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


class Terminal:
    """Ask one question at a time; cancellation leaves the terminal usable."""

    def __init__(self, console: Console, pause: Pause, *, fd: int) -> None:
        self._console = console
        self._pause = pause
        self._fd = fd
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def exclusive(self) -> AsyncGenerator[None]:
        """Lock the terminal and discard earlier input, which is not an answer to the question."""
        async with self._lock, self._pause():
            self.discard_input()
            yield

    def discard_input(self) -> None:
        """Discard pending input."""
        with suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def show(self, *lines: RenderableType) -> None:
        """Print lines above the prompt."""
        for line in lines:
            self._console.print(line)

    async def show_pages(self, *lines: RenderableType) -> bool:
        """Print lines page by page; return False if the user skipped some."""
        with self._console.capture() as captured:
            self.show(*lines)
        rows = captured.get().splitlines(keepends=True)
        while True:
            page, rows = rows[: self._page_rows], rows[self._page_rows :]
            self._console.file.write("".join(page))
            if not rows:
                return True
            left = counted(len(rows), "more line")
            typed = await self.read(translate("prompt.page", "{lines}; press enter to show, q to skip>", lines=left))
            if typed is None or typed.strip():
                return False

    @property
    def _page_rows(self) -> int:
        return max(self._console.height - 2, MIN_PAGE_ROWS)

    def hint(self, text: str) -> None:
        """Print a hint."""
        self.show(_paragraph(readable_line(text), style="dim"))

    async def read(self, prompt: str) -> str | None:
        """Prompt for a line; return None at the end of the input."""
        self._console.print(Text(f"{'':{INDENT}}{prompt} ", style="bold cyan"), end="")
        self._console.file.flush()
        try:
            line = await read_line(self._fd)
        except asyncio.CancelledError:
            self._console.print()
            raise
        if line is None:
            self._console.print()
        return line


async def read_line(fd: int) -> str | None:
    """Read a line without its newline; return None at the end of the input."""
    typed = bytearray()
    while not typed.endswith(b"\n"):
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(fd, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(fd)
        chunk = _read(fd)
        if not chunk:
            break
        typed += chunk
    return _decode_line(typed)


def read_line_sync(fd: int) -> str | None:
    """Read a line like `read_line`, without an event loop."""
    typed = bytearray()
    with _signal_wakeup_fd() as woken:
        while not typed.endswith(b"\n"):
            # Race: a signal just before `select` would otherwise be handled only after the next line.
            readable, _, _ = select.select([fd, woken], [], [])
            if fd not in readable:
                os.read(woken, _CHUNK_BYTES)
                continue
            chunk = _read(fd)
            if not chunk:
                break
            typed += chunk
    return _decode_line(typed)


@contextmanager
def _signal_wakeup_fd() -> Generator[int]:
    """Yield a descriptor that becomes readable with every signal."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    previous_fd = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(previous_fd)
        os.close(read_end)
        os.close(write_end)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK_BYTES)
    except OSError:  # a closed terminal raises EIO
        return b""


def _decode_line(typed: bytearray) -> str | None:
    return typed.decode(errors="replace").rstrip("\r\n") if typed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionOptions:
    """Who answers questions and approvals for the runs of one command."""

    console: Console | None = None
    """The terminal; None when not interactive."""
    approvals: Approving = "none"
    """Where approvals are decided."""
    rule_file: Path | None = None
    """The rule file of the user."""
    remembered: dict[str, str] = field(default_factory=dict[str, str])
    """Calls approved for the duration of the command, and by whom."""

    def build_interaction(self, pause: Pause, listen: Callable[[Event], None]) -> Interaction:
        """Build the interaction of a run: hooks for its events, questions and approvals."""
        interaction = Interaction(hooks=(listen,), remembered=self.remembered)  # approvals wait in the inbox
        if self.approvals == "none":
            interaction = msgspec.structs.replace(interaction, approver=None)
        if self.console is None:
            return interaction
        terminal = Terminal(self.console, pause, fd=sys.stdin.fileno())
        interaction = msgspec.structs.replace(interaction, human=TerminalHuman(terminal))
        if self.approvals != "terminal":
            return interaction
        approver = TerminalApprover(terminal, approver=login_name(), rule_file=self.rule_file)
        return msgspec.structs.replace(interaction, approver=approver)


NO_PARTICIPANTS = InteractionOptions()


def resolve_interaction(
    options: ViewOptions,
    approvals: Approving | None = None,
    *,
    default: Approving = "none",
    rule_file: Path | None = None,
) -> InteractionOptions:
    """Resolve who answers questions and approvals; use `default` without a terminal."""
    if options.json or options.quiet or not is_interactive():
        if approvals == "terminal":
            raise ValidationFailed(
                "`--approvals terminal` needs an interactive terminal",
                hint="`--approvals inbox` parks the run until `approvals approve`",
            )
        return InteractionOptions(approvals=approvals or default)
    console = stderr_console(no_color=options.no_color)
    return InteractionOptions(console=console, approvals=approvals or "terminal", rule_file=rule_file)


class TerminalHuman:
    """Ask questions at the terminal; the end of input parks the question."""

    def __init__(self, terminal: "Terminal") -> None:
        self._terminal = terminal

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Return the typed answer, or the choice with the typed number."""
        async with self._terminal.exclusive():
            self._terminal.show(*question_lines(question))
            try:
                async with asyncio.timeout(timeout_ms / 1000 if timeout_ms else None):
                    answer = await self._answer(question)
            except TimeoutError:
                answer = None
            if answer is None:
                self._terminal.hint(translate("question.open", "the question stays open; answer it later"))
                raise Parked(call_id)
            return answer

    async def _answer(self, question: Question) -> str | None:
        while (line := await self._terminal.read(translate("prompt.answer", "answer>"))) is not None:
            if line.strip():
                return resolve_choice(line, [choice.label for choice in question.choices])
            self._terminal.hint(translate("question.empty", "type an answer, or press Ctrl-D to answer later"))
        return None


class TerminalApprover:
    """Ask for approvals at the terminal; no answer in time and the end of input park the request."""

    keeps_time = True  # concurrent requests are shown one after the other

    def __init__(self, terminal: "Terminal", *, approver: str = "", rule_file: Path | None = None) -> None:
        self._terminal = terminal
        self._who = approver
        self._rule_file = rule_file

    async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> Decision:
        """Decide on one call."""
        async with self._terminal.exclusive():
            try:
                async with asyncio.timeout(timeout_ms / 1000 if timeout_ms else None):
                    decision = await self._ask(request, timeout_ms)
            except TimeoutError:
                self._terminal.discard_input()  # a half-typed answer must not reach the shell
                waited = format_duration(timeout_ms or 0)
                silence = translate(
                    "approval.silence",
                    "no answer within {time}; the run waits, and `approvals approve` resumes it",
                    time=waited,
                )
                self._terminal.hint(silence)
                decision = None
        if decision is None:
            raise Parked(request.call_id)
        return msgspec.structs.replace(decision, decided_by=self._who)

    async def _ask(self, request: ApprovalRequest, timeout_ms: int | None) -> Decision | None:
        rules = self._rules(request)
        is_fully_shown = await self._terminal.show_pages(*approval_lines(request)) and is_shown_in_full(request)
        self._terminal.show(_paragraph("  ".join(list_keys(with_rules=bool(rules))), style="dim"))
        details = list(detail_lines(request, timeout_ms))
        return await self._read_decision(request, details, is_fully_shown=is_fully_shown)

    async def _read_decision(
        self, request: ApprovalRequest, details: Sequence[RenderableType], *, is_fully_shown: bool
    ) -> Decision | None:
        """Read a decision; None at the end of input. A call is shown in full before it can be approved."""
        while (line := await self._terminal.read(translate("prompt.allow", "allow?"))) is not None:
            command, _, argument = line.strip().partition(" ")
            command = command.lower()
            if command in DETAIL_COMMANDS or (not is_fully_shown and command in YES_COMMANDS):
                is_fully_shown = await self._terminal.show_pages(*details) or is_fully_shown
                if command not in DETAIL_COMMANDS:
                    whole = translate("approval.whole", "this is the whole call; answer again")
                    part = translate("approval.part", "the call was not shown in full")
                    self._terminal.hint(whole if is_fully_shown else part)
                    self._terminal.discard_input()
                continue
            decision = await self._apply_command(command, argument.strip(), request)
            if decision is not None:
                return decision
        self._terminal.hint(translate("approval.open", "the request stays open; decide later"))
        return None

    async def _apply_command(self, command: str, argument: str, request: ApprovalRequest) -> Decision | None:
        """Return the decision for a command, or None if it decides nothing."""
        match command, argument:
            case (("y" | "yes"), ""):
                return await self._confirm(request, ONCE, sure=command == YES)
            case "s", "":
                return await self._confirm(request, SESSION)
            case "f", "":
                return await self._approve_with_rule(request, "folder")
            case "a", "":
                return await self._approve_with_rule(request, "skill" if request.intent.skill else "user")
            case "", _:
                return Decision(decision="denied")
            case (("n" | "no"), _):
                return Decision(decision="denied", note=argument or await self._read_reason())
            case "q", _:
                return Decision(decision="abort", note=argument)
            case "e", "":
                return await self._approve_edited(request)
            case _:
                keys = translate("approval.keys", "answer with y, s, f, a or n; ? shows details and more keys")
                self._terminal.hint(keys)
        return None

    async def _read_reason(self) -> str:
        return (await self._terminal.read(translate("prompt.reason", "why?")) or "").strip()

    async def _confirm(self, request: ApprovalRequest, decision: Decision, *, sure: bool = False) -> Decision | None:
        """Approve a call; high risk needs a typed `yes`."""
        if sure or request.risk.get("level") != "high":
            return decision
        sure_text = (
            "high risk: type `yes` to allow {scope, select, once {it once} other {this exact call for the session}}"
        )
        self._terminal.hint(translate("approval.sure", sure_text, scope="once" if decision is ONCE else "session"))
        return decision if await self._confirm_typed() else None

    async def _approve_with_rule(self, request: ApprovalRequest, scope: RuleScope) -> Decision | None:
        """Approve a call and add a rule, which is shown in full and confirmed before it is added."""
        try:
            rule = build_rule(request, scope)
            if self._rule_file is None:
                raise ValidationFailed("there is no file for rules", hint="approve it once")
            self._terminal.show(*rule_lines(rule, scope, display_path(self._rule_file)))
            self._terminal.discard_input()
            if (await self._terminal.read(translate("prompt.add", "add it?")) or "").strip().lower() not in ("y", YES):
                self._terminal.hint(translate("approval.no_rule", "no rule was added; answer again"))
                return None
            decision = approve_with_rule(request, scope, self._rule_file)
        except SkillsRuntimeError as error:
            self._terminal.hint(f"{error.message}; {error.hint}")
            self._terminal.discard_input()  # what was typed ahead answered another question
            return None
        added = "added to {file}; delete it there to be asked again"
        self._terminal.hint(translate("approval.rule_added", added, file=display_path(self._rule_file)))
        return decision

    def _rules(self, request: ApprovalRequest) -> Mapping[RuleScope, Rule]:
        return build_rules(request)[0] if self._rule_file is not None else {}

    async def _approve_edited(self, request: ApprovalRequest) -> Decision | None:
        """Approve an edited call: a shell line is typed as text, other arguments as JSON."""
        line = find_line_argument(request)
        command, arguments = translate("prompt.command", "command>"), translate("prompt.arguments", "arguments>")
        typed = (await self._terminal.read(command if line else arguments) or "").strip()
        if not typed:
            return None
        try:
            edited = {**request.details, line: typed} if line else parse_arguments(typed)
        except ValidationFailed as error:
            self._terminal.hint(f"{error.message}; {error.hint}")
            return None
        instead = Text.assemble((translate("approval.instead", "instead: "), "dim"), readable(typed))
        self._terminal.show(Padding(instead, (0, 0, 0, INDENT), expand=False))
        return Decision(decision="approved", arguments=edited) if await self._confirm_typed() else None

    async def _confirm_typed(self) -> bool:
        self._terminal.discard_input()
        return (await self._terminal.read(translate("prompt.sure", "type yes>")) or "").strip().lower() == YES


def find_line_argument(request: ApprovalRequest) -> str | None:
    """Return the name of the only argument that is the shell line, if there is one."""
    line = request.intent.line
    names = [name for name, value in request.details.items() if line is not None and value == line]
    return names[0] if len(names) == 1 else None


def question_lines(question: Question) -> Iterator[RenderableType]:
    """Render a question with numbered choices."""
    title = f"{readable_line(question.header)}: " if question.header else ""
    yield _paragraph(f"{title}{readable(question.question)}", style="bold")
    if question.context:
        yield _paragraph(readable(question.context), style="dim")
    choices = {
        str(number): readable_line(choice.label)
        + (f"  {readable_line(choice.description)}" if choice.description else "")
        for number, choice in enumerate(question.choices, start=1)
    }
    if choices:
        yield labeled_table(choices, indent=INDENT, width=2)


def approval_lines(request: ApprovalRequest) -> Iterator[RenderableType]:
    """Render the card of a call."""
    yield from card_lines(request, indent=INDENT)


def detail_lines(request: ApprovalRequest, timeout_ms: int | None = None) -> Iterator[RenderableType]:
    """Render the whole call, all its facts, and every key."""
    yield from call_lines(request, indent=INDENT + 2, full=True).lines
    yield fact_lines(request, indent=INDENT + 2)
    name = short_approval_id(request.approval_id)
    until, after = local_time(request.expires_at), format_duration(timeout_ms)
    silence = "after {time} without an answer the run waits"
    command = "answer later with `approvals approve {id}`"
    open_facts = (
        translate("approval.until", "until {time}", time=until) if request.expires_at else "",
        translate("approval.wait", silence, time=after) if timeout_ms else "",
        translate("approval.answer_later", command, id=name) if name else "",
    )
    open_text = translate("approval.joint", "; ").join(filter(None, open_facts))
    facts = {**({translate_label("open"): open_text} if open_text else {}), **describe_keys()}
    yield labeled_table(facts, indent=INDENT + 2, width=LABEL)


def list_keys(*, with_rules: bool) -> list[str]:
    """List the keys of a card; those that add a rule only where one can be made."""
    rules = [
        f"[f] {translate('approval.folder', 'this folder')}",
        f"[a] {translate('approval.always', 'always')}",
    ]
    return [
        f"[y] {translate('approval.once', 'once')}",
        f"[s] {translate('approval.session', 'session')}",
        *(rules if with_rules else []),
        f"[n] {translate('approval.no', 'no')}",
        f"[?] {translate('approval.details', 'details')}",
    ]


def describe_keys() -> dict[str, str]:
    """Describe what keys do, by key."""
    rule = "show a rule that allows such calls in this folder, or always, and add it if you confirm"
    return {
        "[s]": translate("approval.session_key", "allow this exact call for the rest of the session"),
        "[f] [a]": translate("approval.rule_key", rule),
        "[e]": translate("approval.edit_key", "edit the call"),
        "[n]": translate("approval.deny_key", "deny it; `n REASON` tells the model why"),
        "[q]": translate("approval.stop_key", "deny it and stop the run"),
        "Ctrl-D": translate("approval.later_key", "decide later; the run waits"),
    }


def is_shown_in_full(request: ApprovalRequest) -> bool:
    """Return whether the first rendering shows the whole call."""
    return not call_lines(request, indent=INDENT + 2).left_out


def rule_lines(rule: Rule, scope: RuleScope, file: str) -> Iterator[RenderableType]:
    """Render a rule in full, and what it allows."""
    what = describe_rule(rule, scope)
    yield _paragraph(translate("rule.shown", "this rule in {file} allows {what}", file=file, what=what), style="bold")
    yield rule_paragraph(rule, indent=INDENT + 2)
    yield _paragraph(translate("rule.keys", "[y] approve and add it  anything else cancels"), style="dim")


def _paragraph(text: str, *, style: str) -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, INDENT), expand=False)
