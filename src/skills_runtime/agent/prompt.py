"""From a conversation to the messages of a request.

Pure but for the blobs it looks up.

The request only ever grows at its end, so that a provider's cache of the beginning keeps working.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from skills_runtime.projections import Call, Content, Conversation, Message

SYSTEM_PROMPT = """\
You are a careful agent. Work on the user's task with the tools you have, one step after another.
Put every file the user should receive below `deliverables/`.
When the task is done, answer with a short summary and no tool call.
"""

ReadBlob = Callable[[str], bytes]


class Prompt:
    """The request of each turn; what was built for the turn before is used again."""

    def __init__(self, system_prompt: str, read_blob: ReadBlob) -> None:
        self._system = {"role": "system", "content": system_prompt}
        self._read_blob = read_blob
        self._conversation: list[Message] = []
        self._built: list[dict[str, Any]] = []

    def messages(self, conversation: Conversation) -> list[dict[str, Any]]:
        """The whole request, in the shape chat providers take."""
        if conversation.messages is not self._conversation:  # it only grows, unless it was compacted into a new one
            self._conversation, self._built = conversation.messages, []
        self._built.extend(_message(one, self._read_blob) for one in conversation.messages[len(self._built) :])
        return [self._system, *self._built]


def arguments_of(call: Call, read_blob: ReadBlob) -> str:
    """The exact JSON text of a call's arguments."""
    return _text(call.arguments, read_blob)


def _message(message: Message, read_blob: ReadBlob) -> dict[str, Any]:
    if message.role == "tool":
        content = _text(message.result or Content(), read_blob)
        return {"role": "tool", "tool_call_id": message.call_id, "content": content}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    return {
        "role": message.role,
        "content": message.text or None,
        "tool_calls": [_call(call, read_blob) for call in message.calls],
    }


def _call(call: Call, read_blob: ReadBlob) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": arguments_of(call, read_blob)}
    return {"id": call.id, "type": "function", "function": function}


def _text(content: Content, read_blob: ReadBlob) -> str:
    data = read_blob(content.blob) if content.blob else msgspec.json.encode(content.data)
    return data.decode()
