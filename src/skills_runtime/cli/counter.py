"""Where a command talks to a run: the run, the desk that takes what is said, and the ledger behind it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from skills_runtime.cli.locate import find_run, short_id
from skills_runtime.cli.state import log_ports, this_ledger
from skills_runtime.cli.terminal import chosen
from skills_runtime.cli.waits import command_for
from skills_runtime.engine import RunControl, read_row
from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Ledger
from skills_runtime.ports import InboxMessage
from skills_runtime.ports.people import KeyTaken
from skills_runtime.projections import RunState, RunView
from skills_runtime.projections.pending import PendingQuestion
from skills_runtime.runs import LogPorts, RunPaths, read_view

KEY_CHARS = 256
_GOES_ON_BY_RESUME = (RunStatus.WAITING_FOR_USER, RunStatus.REVISION_REQUIRED)


@dataclass(frozen=True, slots=True)
class Counter:
    """One run, and everything one needs to say something to it."""

    paths: RunPaths
    ledger: Ledger
    ports: LogPorts

    @property
    def desk(self) -> RunControl:
        """Who takes messages."""
        return RunControl(self.ledger.inbox, self.ports)

    def view(self) -> RunView:
        """Where the run stands now."""
        return read_view(self.paths, self.ports)

    def record(self) -> None:
        """Let the index know of a change made here; it catches up later when it cannot be told now."""
        with suppress(SkillsRuntimeError, OSError):
            row, text = read_row(self.paths.root, self.ports)
            self.ledger.index.record(row, text=text)

    def answer(self, said: str | Mapping[str, str], call_id: str | None) -> InboxMessage:
        """Answer a question; the number of a choice stands for the choice."""
        view = self.view()
        question = _meant(view, call_id)
        if question is None:  # the desk says why
            return self.desk.answer(self.paths, said, call_id=call_id)
        if isinstance(said, str):
            _refuse_one_for_all(question)
            said = chosen(said, question.choices)
        self._refuse_second(view.state.run_id, question, said)
        key = f"answer:{question.seq}:{question.call_id}"[:KEY_CHARS]  # said again it is the same message
        try:
            return self.desk.answer(self.paths, said, call_id=question.call_id, key=key)
        except KeyTaken as taken:
            raise _second(question) from taken

    def next_of(self, state: RunState, program: str) -> str:
        """The command that lets the run go on, where nobody works on it."""
        if state.status not in _GOES_ON_BY_RESUME:
            return ""
        return command_for(program, short_id(state.run_id))("runs resume")

    def _refuse_second(self, run_id: str, question: PendingQuestion, said: str | Mapping[str, str]) -> None:
        given = {"answer": said} if isinstance(said, str) else {"answers": dict(said)}
        for message in self.ledger.inbox.pending(run_id):
            same_call = message.kind == "answer" and message.body.get("call_id") == question.call_id
            if same_call and {"call_id": question.call_id, **given} != message.body:
                raise _second(question)


@contextmanager
def at_counter(reference: str, workspace_root: str) -> Generator[Counter]:
    """The counter of the run that somebody named."""
    paths = find_run(reference, workspace_root)
    with this_ledger() as ledger:
        yield Counter(paths, ledger, log_ports())


def when_read(state: RunState) -> str:
    """When a run takes in what was sent to it."""
    if state.status is RunStatus.RUNNING:
        return "it is read at the next turn"
    return "it is read when the run goes on"


def _meant(view: RunView, call_id: str | None) -> PendingQuestion | None:
    """The question that is meant, if there is no doubt about it."""
    questions = view.pending.questions
    if not view.state.open or (call_id is None and len(questions) != 1):
        return None
    return questions.get(call_id) if call_id is not None else next(iter(questions.values()))


def _second(question: PendingQuestion) -> ValidationFailed:
    return ValidationFailed(
        f"another answer to `{question.call_id}` is on its way already",
        hint="send a message instead: `runs send RUN TEXT`",
    )


def _refuse_one_for_all(question: PendingQuestion) -> None:
    if len(question.ids) > 1:
        each = " ".join(f"--set {name}=TEXT" for name in question.ids)
        raise ValidationFailed(f"`{question.call_id}` asks {len(question.ids)} things at once", hint=f"answer: {each}")
