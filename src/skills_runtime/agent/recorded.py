"""The answers an earlier run recorded, for a model that gives them again."""

from pathlib import Path

from skills_runtime.agent.prompt import arguments_of
from skills_runtime.llm import RecordedAnswer
from skills_runtime.ports import ToolCall
from skills_runtime.projections import Conversation, fold
from skills_runtime.runs import Blobs, RunPaths, read_events


def recorded_answers(root: Path) -> list[RecordedAnswer]:
    """Every complete answer in the log of a run, in order."""
    paths = RunPaths(root)
    blobs = Blobs(paths.blobs)
    conversation = fold(read_events(paths), Conversation())
    return [
        RecordedAnswer(
            message.text,
            [ToolCall(id=call.id, name=call.tool, arguments=arguments_of(call, blobs.get)) for call in message.calls],
        )
        for message in conversation.messages
        if message.role == "assistant"
    ]
