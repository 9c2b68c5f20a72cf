"""What a run waits for, and the exact commands that let it go on.

Pure.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from skills_runtime.cli.output import labelled
from skills_runtime.cli.text import short_approval
from skills_runtime.events.payloads import HumanRequest
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import Pending, RunState
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.projections.pending import PendingQuestion
from skills_runtime.text import readable_line

THEN = "then"
"""The label of a command that follows the one before it."""
_SETTING = re.compile(r"`(run\.\w+)`")


@dataclass(frozen=True, slots=True)
class CommandFor:
    """Command lines about the run in question, as people name it."""

    program: str
    reference: str

    def __call__(self, verb: str, subject: str | None = None) -> str:
        """The command line of a verb such as `runs resume`, for the run or for another subject."""
        return f"{self.program} {verb} {shlex.quote(subject or self.reference)}"


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is waited for: what it is, what may be answered, and how."""

    what: str
    choices: tuple[str, ...] = ()
    parts: Mapping[str, str] = {}
    """Several questions at once, by the name of each."""
    commands: Mapping[str, str] = {}

    def in_words(self) -> str:
        """The commands in one sentence: one after the other, or one of them."""
        words = ""
        for label, line in self.commands.items():
            joint = "" if not words else ", then " if label == THEN else " or "
            words += f"{joint}`{line}`"
        return words


def command_for(program: str, reference: str) -> CommandFor:
    """Command lines for the run that people name so."""
    return CommandFor(program, reference)


def waits_of(
    state: RunState, pending: Pending, command: CommandFor, asked: Mapping[str, HumanRequest] | None = None
) -> list[Wait]:
    """Everything a run waits for; `asked` has the whole questions where somebody has read the log."""
    match state.status:
        case RunStatus.REVIEW_REQUIRED:
            revise = f"{command('runs review revise')} --note TEXT"
            return [
                Wait(what="a review", commands={"accept": command("runs review approve"), "send back": revise}),
            ]
        case RunStatus.REVISION_REQUIRED:
            return [Wait(what="to go on with the note of its review", commands={"go on": command("runs resume")})]
        case RunStatus.WAITING_FOR_USER | RunStatus.RUNNING:
            return [
                *_questions(pending, command, asked or {}),
                *[_approval(one, pending, command) for one in pending.approvals.open.values()],
                *_stop(state, command),
            ]
        case _:
            return []


def resume_with_more(message: str, command: CommandFor) -> str:
    """How a run goes on that has come to the limit its message names."""
    setting = _SETTING.search(message)
    return command("runs resume") + (f" --set {setting[1]}=MORE" if setting else "")


def _stop(state: RunState, command: CommandFor) -> list[Wait]:
    if state.waiting_kind == "stopped":
        return [Wait(what="somebody who goes on with it: it was stopped", commands={"go on": command("runs resume")})]
    if state.waiting_kind == "budget_exceeded":
        more = resume_with_more(state.waiting_message, command)
        return [Wait(what=state.waiting_message, commands={"go on": more})]
    return []


def _approval(one: PendingApproval, pending: Pending, command: CommandFor) -> Wait:
    what = f"an approval of {one.summary or one.tool}"
    if pending.approvals.decision_on(one.approval_id) is not None:
        return Wait(what=f"{what}, which is decided", commands={"go on": command("runs resume")})
    return Wait(what=what, commands=decision_commands(one.approval_id, command))


def decision_commands(approval_id: str, command: CommandFor) -> dict[str, str]:
    """How a request is looked at and decided."""
    name = short_approval(approval_id)
    return {
        "look": command("approvals show", name),
        "approve": command("approvals approve", name),
        "deny": f"{command('approvals deny', name)} --reason TEXT",
    }


def _questions(pending: Pending, command: CommandFor, asked: Mapping[str, HumanRequest]) -> list[Wait]:
    several = len(pending.questions) > 1
    return [_question(one, command, asked.get(one.call_id), named=several) for one in pending.questions.values()]


def _question(one: PendingQuestion, command: CommandFor, asked: HumanRequest | None, *, named: bool) -> Wait:
    call = f" --call {shlex.quote(one.call_id)}" if named else ""
    parts = [f"--set {shlex.quote(name)}=TEXT" for name in one.ids]
    answer = " ".join(parts) if parts else "NUMBER" if one.choices else "TEXT"
    whole = _parts(asked.questions) if asked is not None else {}
    return Wait(
        what=f"answers to {len(whole)} questions" if whole else one.question,
        choices=tuple(one.choices),
        parts=whole,
        commands={"answer": f"{command('runs answer')} {answer}{call}", THEN: command("runs resume")},
    )


def _parts(questions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Each question by its name, with its choices behind it."""
    found: dict[str, str] = {}
    for one in questions:
        labels = [str(choice.get("label", "")) for choice in one.get("choices") or ()]
        choices = f"  [{' | '.join(labels)}]" if labels else ""
        found[str(one.get("id", ""))] = f"{one.get('question', '')}{choices}"
    return found


def wait_lines(wait: Wait, *, indent: int, width: int, titled: bool = True) -> Iterator[RenderableType]:
    """One thing that is waited for; without its title where that stands elsewhere."""
    if titled:
        yield Padding(Text(readable_line(wait.what)), (0, 0, 0, indent), expand=False)
    offered = {str(number): readable_line(choice) for number, choice in enumerate(wait.choices, start=1)}
    offered |= {readable_line(name): readable_line(text) for name, text in wait.parts.items()}
    for facts in (offered, dict(wait.commands)):
        if facts:
            yield labelled(facts, indent=indent, width=width)
