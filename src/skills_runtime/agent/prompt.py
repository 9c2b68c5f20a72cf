"""From a conversation to the messages of a request. Pure but for the blobs it looks up.

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


def messages_of(conversation: Conversation, system_prompt: str, read_blob: ReadBlob) -> list[dict[str, Any]]:
    """The whole request, in the shape chat providers take."""
    system = {"role": "system", "content": system_prompt}
    return [system, *(_message(one, read_blob) for one in conversation.messages)]


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
