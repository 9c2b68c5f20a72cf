"""Those who had a say in a recorded run: they say it again when the replay has come as far."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from skills_runtime.errors import ValidationFailed
from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import ApprovalDecided, HumanResponse, InboxReceived, RunStarted, SkillInjected
from skills_runtime.ports import ApprovalRequest, Decision, DecisionKind, InboxKind, InboxMessage, Parked, Question
from skills_runtime.projections import Conversation, fold


class RecordedApprover:
    """Decides as it was decided then; of a call that nobody was asked about it approves nothing."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._decisions = {
            event.payload.call_id: event.payload for event in events if isinstance(event.payload, ApprovalDecided)
        }

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """The recorded decision."""
        decided = self._decisions.get(request.call_id)
        if decided is None:
            return "denied"
        return Decision(decision=cast("DecisionKind", decided.decision), note=decided.note)


class RecordedPerson:
    """Answers what the loop itself asks as somebody answered it then."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._answers = {
            event.payload.call_id: event.payload for event in events if isinstance(event.payload, HumanResponse)
        }

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """The recorded answer; what nobody has answered goes no further."""
        given = self._answers.get(call_id)
        if given is None:
            raise Parked(call_id)
        return given.answers.get(question.id, given.answer)


class RecordedInbox:
    """Hands out the messages of a recording when the replay has come as far as the run had when they came."""

    def __init__(self, before: Iterable[Event], events: Iterable[Event]) -> None:
        self._now = Conversation()
        self._messages: list[tuple[tuple[int, ...], InboxMessage]] = []
        self._skills: dict[str, list[Payload]] = {}
        then, begun, skills = fold(before, Conversation()), False, list[Payload]()
        for event in events:
            match event.payload:
                case SkillInjected() as taught if begun and event.step_id is None:
                    skills.append(taught)
                case InboxReceived(kind="steer") as received:
                    self._skills[received.message_id], skills = skills, []
                    self._keep(then, received.message_id, received.body)
                case RunStarted(task=task) if begun and then.answers and task != then.task:
                    # An older product gave a run another task as it went on: to the loop that is a message.
                    self._keep(then, f"task_{event.seq}", {"text": task})
                    then.apply(event)
                case _:
                    then.apply(event)
            begun = begun or isinstance(event.payload, RunStarted)

    def _keep(self, then: Conversation, message_id: str, body: Mapping[str, Any]) -> None:
        position = len(self._messages) + 1
        message = InboxMessage(id=message_id, run_id="", position=position, kind="steer", body=body, created_at="")
        self._messages.append((_how_far(then), message))

    def skills_of(self, message: InboxMessage) -> Sequence[Payload]:
        """The skills that a message brought with it then, whatever has become of them since."""
        return self._skills.get(message.id, ())

    def watch(self, replay: Conversation) -> None:
        """See how far the replay is, which goes on while it is watched."""
        self._now = replay

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Refuse: nothing new can be said to a recording."""
        raise ValidationFailed("a replay takes no messages")

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """The messages that had come by now."""
        now = _how_far(self._now)
        return [message for then, message in self._messages if then <= now]

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Hand a message out only once."""
        self._messages = [(then, one) for then, one in self._messages if one.id != message_id]


def _how_far(talk: Conversation) -> tuple[int, ...]:
    """What a run counts as it goes on: of two moments the later one is greater."""
    return talk.answers, talk.settled, talk.rejections
