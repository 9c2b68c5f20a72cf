"""What an earlier run recorded, for a model that says it again."""

from pathlib import Path

import msgspec

from skills_runtime.agent.prompt import arguments_of
from skills_runtime.events import Event
from skills_runtime.events.payloads import ContextCompacted
from skills_runtime.llm import RecordedAnswer, ReplayBackend
from skills_runtime.ports import ToolCall
from skills_runtime.projections import Conversation, fold
from skills_runtime.runs import RunPaths, blobs_of, whole_history


class Recording(msgspec.Struct):
    """Everything that was said, also what compaction left out, and the summaries that took its place."""

    conversation: Conversation = msgspec.field(default_factory=Conversation)
    summaries: list[str] = []

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        if isinstance(event.payload, ContextCompacted):
            self.summaries.append(event.payload.summary)
        else:
            self.conversation.apply(event)


def recording_of(root: Path) -> Recording:
    """What the log of a run holds."""
    return fold(whole_history(RunPaths(root)), Recording())


def replaying(root: Path, recording: Recording) -> ReplayBackend:
    """A model that gives every complete answer of a run again, in order."""
    blobs = blobs_of(RunPaths(root))
    talk = recording.conversation
    answers = [
        RecordedAnswer(
            message.text,
            [ToolCall(id=call.id, name=call.tool, arguments=arguments_of(call, blobs.get)) for call in message.calls],
        )
        for message in talk.messages[talk.leading :]  # what the session said before was not this run's
        if message.role == "assistant" and not any(call.id in talk.called for call in message.calls)
    ]
    return ReplayBackend(answers, compactions=recording.summaries)
