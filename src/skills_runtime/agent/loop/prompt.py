"""From a conversation to the messages of a request.

Pure but for the blobs it looks up.

The request only ever grows at its end, so that a provider's cache of the beginning keeps working.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.projections import Call, Content, Conversation, Message

ReadBlob = Callable[[str], bytes]

EXCERPT_OF_A_RESULT = 800
_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_-]")


class Prompt:
    """The request of each turn; what was built for the turn before is used again."""

    def __init__(self, system_prompt: str, read_blob: ReadBlob) -> None:
        self._system = {"role": "system", "content": system_prompt}
        self._read_blob = read_blob
        self._conversation: list[Message] = []
        self._taken = 0
        self._built: list[dict[str, Any]] = []

    def messages(self, conversation: Conversation) -> list[dict[str, Any]]:
        """The whole request, in the shape chat providers take."""
        if conversation.messages is not self._conversation:  # it only grows, unless it was compacted into a new one
            self._conversation, self._taken, self._built = conversation.messages, 0, []
        self._built.extend(_messages(conversation.messages[self._taken :], self._read_blob))
        self._taken = len(conversation.messages)
        return [self._system, *self._built]


def arguments_of(call: Call, read_blob: ReadBlob) -> str:
    """The exact JSON text of a call's arguments."""
    return _text(call.arguments, read_blob)


def excerpt(conversation: Conversation, read_blob: ReadBlob | None, *, limit: int) -> str:
    """The conversation as text of `limit` characters, with the middle left out; without blobs only what events show."""
    lines = [line for one in conversation.messages for line in _lines(one, read_blob)]
    return shortened("\n\n".join(lines), limit=limit)


def shortened(text: str, *, limit: int) -> str:
    """The text in at most `limit` characters, with its middle left out when it has more."""
    if len(text) <= limit:
        return text
    note = f"\n\n[… {len(text) - limit} characters left out …]\n\n"
    room = max(0, limit - len(note))
    return f"{text[: room // 3]}{note}{text[len(text) - (room - room // 3) :]}"


def _messages(messages: list[Message], read_blob: ReadBlob) -> Iterator[dict[str, Any]]:
    """Pictures that tools return follow the results: providers take them from users only."""
    seen: list[Mapping[str, Any]] = []
    for one in messages:
        if seen and one.role != "tool":
            yield _pictures(seen, read_blob)
            seen = []
        yield _message(one, read_blob)
        if one.role == "tool":
            seen.extend(_image_in(one.result or Content()))
    if seen:
        yield _pictures(seen, read_blob)


def _message(message: Message, read_blob: ReadBlob) -> dict[str, Any]:
    if message.role == "tool":
        content = _text(message.result or Content(), read_blob)
        return {"role": "tool", "tool_call_id": message.call_id, "content": content}
    if message.calls:
        calls = [_call(call, read_blob) for call in message.calls]
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    text = read_blob(message.blob).decode() if message.blob else message.text
    if not message.images:
        return {"role": message.role, "content": text}
    pictures = [_picture(one, read_blob) for one in message.images]
    return {"role": message.role, "content": [{"type": "text", "text": text}, *pictures]}


def _call(call: Call, read_blob: ReadBlob) -> dict[str, Any]:
    # Services read the arguments of earlier calls, and refuse every later request when they cannot.
    arguments = arguments_of(call, read_blob) if call.valid else "{}"
    function = {"name": (_NOT_IN_NAMES.sub("_", call.tool)[:64] or "unknown"), "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _text(content: Content, read_blob: ReadBlob | None) -> str:
    data = read_blob(content.blob) if read_blob and content.blob else msgspec.json.encode(content.data)
    return data.decode()


def _image_in(result: Content) -> Iterator[Mapping[str, Any]]:
    """The picture in a result, if a tool put one there."""
    image = _field(_field(result.data, "data"), "image")
    if _field(image, "blob") and _field(image, "media_type"):
        yield image


def _field(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def _pictures(images: list[Mapping[str, Any]], read_blob: ReadBlob) -> dict[str, Any]:
    label = {"type": "text", "text": "The pictures the tools returned:"}
    return {"role": "user", "content": [label, *(_picture(one, read_blob) for one in images)]}


def _picture(image: Mapping[str, Any], read_blob: ReadBlob) -> dict[str, Any]:
    data = base64.b64encode(read_blob(str(image["blob"]))).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{image['media_type']};base64,{data}"}}


def _lines(message: Message, read_blob: ReadBlob | None) -> Iterator[str]:
    if message.role == "tool":
        text = _text(message.result or Content(), read_blob)
        yield f"result of {message.call_id}: {_short(text)}"
        return
    if message.text or not message.calls:
        yield f"{message.role}: {message.text}"
    for call in message.calls:
        yield f"call {call.id}: {call.tool} {_short(_text(call.arguments, read_blob))}"


def _short(text: str) -> str:
    return text if len(text) <= EXCERPT_OF_A_RESULT else f"{text[:EXCERPT_OF_A_RESULT]} […]"
