"""Messages to runs: text, answers, decisions, cancellation and review, whether or not a run is in progress."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from skills_runtime.agent import finish_tree
from skills_runtime.agent.loop import open_inbox
from skills_runtime.errors import ApprovalStale, IllegalTransition, LogEnded, LogLocked, NotFound, ValidationFailed
from skills_runtime.events import RunCancelled, RunCompleted, RunStatus
from skills_runtime.ports import Decision, Inbox, InboxClosed, InboxKind, InboxMessage, KeyTaken
from skills_runtime.projections import PendingApproval, PendingQuestion, RunView
from skills_runtime.runs import LogPorts, RunPaths, open_run, read_view, use_run
from skills_runtime.safety.approvals import explain_late_decision

MAX_KEY_CHARS = 256


class RunControl:
    """Sends messages to the runs of this machine; every message is durable when a call returns."""

    def __init__(self, inbox: Inbox, ports: LogPorts) -> None:
        self._inbox = inbox
        self._ports = ports

    def send(self, paths: RunPaths, text: str, *, key: str | None = None) -> InboxMessage:
        """Send a message that the run reads at its next turn."""
        if not text.strip():
            raise ValidationFailed("an empty message says nothing", hint="write what the run should know")
        state = self._open(paths).state
        return self._send(paths, state.run_id, "steer", {"text": text}, key)

    def answer(
        self, paths: RunPaths, answers: Mapping[str, str] | str, *, call_id: str | None = None, key: str | None = None
    ) -> InboxMessage:
        """Answer a question of a run: with one text, or one per question by its id."""
        view = self._open(paths)
        question = _question(view, call_id)
        ids = question.ids or ["answer"]
        if not isinstance(answers, str) and sorted(answers) != sorted(ids):
            raise ValidationFailed("the answers do not fit the questions", hint=f"answer: {', '.join(ids)}")
        content = {"answer": answers} if isinstance(answers, str) else {"answers": dict(answers)}
        body = {"call_id": question.call_id, **content}
        return self._send(paths, view.state.run_id, "answer", body, key)

    def answer_once(
        self, paths: RunPaths, answers: Mapping[str, str] | str, *, call_id: str | None = None
    ) -> InboxMessage:
        """Answer a question for a user who types: the number of a choice selects it.

        The same answer again is the same message; a different one is refused.
        """
        view = read_view(paths, self._ports)
        questions = view.pending.questions
        chosen = call_id if call_id is not None else next(iter(questions), "")
        question = questions.get(chosen)
        if not view.state.open or question is None or (call_id is None and len(questions) > 1):
            return self.answer(paths, answers, call_id=call_id)  # which says what is wrong
        if isinstance(answers, str):
            if len(question.ids) > 1:
                example = " ".join(f"--set {name}=TEXT" for name in question.ids)
                raise ValidationFailed(
                    f"`{question.call_id}` asks {len(question.ids)} things at once", hint=f"answer: {example}"
                )
            answers = resolve_choice(answers, question.choices)
        body = {"answer": answers} if isinstance(answers, str) else {"answers": dict(answers)}
        conflict = ValidationFailed(
            f"another answer to `{question.call_id}` is on its way already",
            hint="send a message instead: `runs send RUN TEXT`",
        )
        for message in self._inbox.pending(view.state.run_id):
            same_call = message.kind == "answer" and message.body.get("call_id") == question.call_id
            if same_call and {"call_id": question.call_id, **body} != message.body:
                raise conflict
        key = f"answer:{question.seq}:{question.call_id}"[:MAX_KEY_CHARS]
        try:
            return self.answer(paths, answers, call_id=question.call_id, key=key)
        except KeyTaken as taken:
            raise conflict from taken

    def decide(
        self,
        paths: RunPaths,
        decision: Decision,
        *,
        approval_id: str | None = None,
        approval_key: str | None = None,
    ) -> InboxMessage:
        """Decide on a waiting call; only the first decision on a request counts."""
        view = self._open(paths)
        approval = _approval(view, approval_id)
        if approval_key not in (None, approval.approval_key):
            raise ApprovalStale(f"`{approval.approval_id}` is not about what you saw any more")
        if late := explain_late_decision(approval, self._ports.clock.now()):
            raise ApprovalStale(late)
        body = {
            "run_id": view.state.run_id,
            "approval_id": approval.approval_id,
            "approval_key": approval.approval_key,
            **msgspec.to_builtins(decision),
        }
        for earlier in self._inbox.pending(view.state.run_id):
            if earlier.kind == "approve" and earlier.body.get("approval_id") == approval.approval_id:
                raise ApprovalStale(f"`{approval.approval_id}` was decided already: {earlier.body.get('decision')}")
        try:
            return self._send(paths, view.state.run_id, "approve", body, f"decide-{approval.approval_id}")
        except KeyTaken as taken:  # by a concurrent request
            raise ApprovalStale(f"`{approval.approval_id}` has already been decided") from taken

    def cancel(self, paths: RunPaths, reason: str = "cancelled", *, key: str | None = None) -> InboxMessage | None:
        """Cancel a run: at once if it is idle, else with a message to its process."""
        try:
            with use_run(paths.root, self._ports) as run:
                cancelled = RunCancelled(message=reason, wal_locator=str(paths.events))
                finish_tree(run, self._inbox, lambda: cancelled)
                return None
        except LogLocked:
            state = self._open(paths).state
            return self._send(paths, state.run_id, "cancel", {"reason": reason}, key)

    def approve(self, paths: RunPaths, note: str = "") -> RunStatus:
        """Accept the result of a run that waits for review, which completes it."""
        run = open_run(paths.root, self._ports)
        try:
            _check_review(run.state.status)
            completed = RunCompleted(
                final_output=run.view.conversation.last_text,
                wal_locator=str(paths.events),
                metadata={"review": {"decision": "approved", "note": note}},
            )
            finish_tree(run, self._inbox, lambda: completed)  # the log tells also of what came too late
            return run.state.status
        finally:
            run.close()

    def revise(self, paths: RunPaths, note: str) -> RunStatus:
        """Send a run that waits for review back to work; its model reads the note next."""
        if not note.strip():
            raise ValidationFailed("a revision needs a note", hint="say what should be different")
        with use_run(paths.root, self._ports) as run:
            _check_review(run.state.status)
            open_inbox(run, self._inbox)
            key = f"review-{run.state.last_seq}"  # said again after a crash it is the same message
            self._inbox.send(run.state.run_id, "steer", {"text": note, "review": True}, idempotency_key=key)
            run.change(RunStatus.REVISION_REQUIRED, reason=note)
            return run.state.status

    def _open(self, paths: RunPaths) -> RunView:
        view = read_view(paths, self._ports)
        if not view.state.open:
            message = f"the run `{view.state.run_id}` has ended and takes no more messages"
            raise LogEnded(message, run_id=view.state.run_id)
        return view

    def _send(
        self, paths: RunPaths, run_id: str, kind: InboxKind, body: Mapping[str, Any], key: str | None = None
    ) -> InboxMessage:
        """Store a message; a run that has closed its inbox has ended, unless its process died right then."""

        def send() -> InboxMessage:
            return self._inbox.send(run_id, kind, body, idempotency_key=key)

        try:
            return send()
        except InboxClosed as closed:
            return self._send_to_orphan(paths, send, closed)

    def _send_to_orphan(self, paths: RunPaths, send: Callable[[], InboxMessage], closed: InboxClosed) -> InboxMessage:
        """Store a message to an idle run that has not ended; it is read when the run continues."""
        try:
            run = open_run(paths.root, self._ports)
        except (LogLocked, LogEnded):
            raise LogEnded(closed.message) from closed
        try:
            open_inbox(run, self._inbox)
            return send()
        finally:
            run.close()


def resolve_choice(text: str, choices: Sequence[str]) -> str:
    """Return the choice with the typed number, or the typed text; a choice that is itself a number wins."""
    text = text.strip()
    if text in choices or not text.isdecimal() or not text.isascii():
        return text
    number = int(text[:9])
    return choices[number - 1] if 1 <= number <= len(choices) else text


def _question(view: RunView, call_id: str | None) -> PendingQuestion:
    questions = view.pending.questions
    if not questions:
        raise NotFound(f"the run `{view.state.run_id}` has asked nothing", hint="`runs show` tells what it waits for")
    if call_id is None and len(questions) > 1:
        raise ValidationFailed("the run has asked several things", hint=f"name one call: {', '.join(questions)}")
    chosen = call_id or next(iter(questions))
    if chosen not in questions:
        raise NotFound(f"no question of the call `{chosen}` is open", hint=f"open: {', '.join(questions)}")
    return questions[chosen]


def _approval(view: RunView, approval_id: str | None) -> PendingApproval:
    approvals = view.pending.approvals.open
    if approval_id is None and len(approvals) > 1:
        raise ValidationFailed("the run waits for several approvals", hint=f"name one: {', '.join(approvals)}")
    chosen = approval_id or next(iter(approvals), "")
    if chosen not in approvals:
        problem = f"no approval `{chosen}` is open" if chosen else "no approval is open"
        raise ApprovalStale(f"{problem} in the run `{view.state.run_id}`")
    return approvals[chosen]


def _check_review(status: RunStatus) -> None:
    if status is not RunStatus.REVIEW_REQUIRED:
        raise IllegalTransition(f"a run that is `{status}` does not wait for review")
