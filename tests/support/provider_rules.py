"""What chat providers insist on, taken together: a request that passes here is refused by none of them for its form.

The rules are those of the strictest provider in each point, so that a conversation can go on with any of them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from skills_runtime.ports import ChatRequest

Message = Mapping[str, Any]

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
DATA_URL = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*")
KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def check_request(request: ChatRequest) -> None:
    """Fail with every rule that the request breaks."""
    problems = [*problems_of(request.messages), *_problems_of_tools(request.tools)]
    assert not problems, "\n".join(problems)


def problems_of(messages: Sequence[Message]) -> list[str]:
    """Every rule that a conversation breaks, each with the number of its message."""
    each = [f"{number}: {problem}" for number, one in enumerate(messages) for problem in _problems_of_message(one)]
    return [*each, *_problems_of_order(messages), *_problems_of_calls(messages), *_problems_of_encoding(messages)]


def _problems_of_message(message: Message) -> Iterator[str]:
    role = message.get("role")
    if role not in KEYS:
        yield f"the role `{role}` is not known"
        return
    if message.keys() - KEYS[role]:
        yield f"a message of `{role}` has no {sorted(message.keys() - KEYS[role])}"
    yield from _CONTENT[role](message)


def _text_only(message: Message) -> Iterator[str]:
    if not isinstance(message.get("content"), str):
        yield f"the content of `{message['role']}` is not text"


def _content_of_user(message: Message) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        yield "the content of `user` is neither text nor a list of parts"
        return
    for part in cast("list[Any]", content):
        match part:
            case {"type": "text", "text": str(text)} if text and len(part) == 2:
                pass
            case {"type": "image_url", "image_url": {"url": str(url)}} if DATA_URL.fullmatch(url):
                pass
            case _:
                yield f"a part of the content is not one: {str(part)[:80]}"


def _content_of_assistant(message: Message) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    if content is not None and not isinstance(content, str):
        yield "the content of `assistant` is neither text nor null"
    if not content and not calls:
        yield "an answer says nothing and calls nothing"
    if "tool_calls" not in message:
        return
    if not isinstance(calls, list) or not calls:
        yield "`tool_calls` is not a list of calls"
        return
    for call in cast("list[Any]", calls):
        yield from _problems_of_call(call)


def _problems_of_call(call: Any) -> Iterator[str]:
    match call:
        case {"id": str(call_id), "type": "function", "function": {"name": str(name), "arguments": str(text)}}:
            if not call_id:
                yield "a call has no id"
            if not TOOL_NAME.fullmatch(name):
                yield f"`{name}` cannot be the name of a function"
            if not _is_object(text):
                yield f"the arguments of `{name}` are not a JSON object"
        case _:
            yield f"a call is not one: {str(call)[:80]}"


def _is_object(text: str) -> bool:
    try:
        data = json.loads(text, parse_constant=_refuse)
        json.dumps(data, ensure_ascii=False).encode()  # half a character cannot be written
    except ValueError:
        return False
    return isinstance(data, dict)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _content_of_tool(message: Message) -> Iterator[str]:
    yield from _text_only(message)
    if not isinstance(message.get("tool_call_id"), str):
        yield "a result names no call"


_CONTENT: dict[str, Callable[[Message], Iterator[str]]] = {
    "system": _text_only,
    "user": _content_of_user,
    "assistant": _content_of_assistant,
    "tool": _content_of_tool,
}


def _problems_of_order(messages: Sequence[Message]) -> Iterator[str]:
    roles = [message.get("role") for message in messages]
    if "system" in roles[1:]:
        yield "a system prompt stands behind the beginning"
    spoken = [role for role in roles if role != "system"]
    if spoken[:1] != ["user"]:
        yield f"the conversation begins with {spoken[:1]} and not with the user"
    if spoken[-1:] not in (["user"], ["tool"]):
        yield f"the conversation ends with {spoken[-1:]}: there is nothing to answer"


def _problems_of_calls(messages: Sequence[Message]) -> Iterator[str]:
    """Each call is answered once, right behind the answer that made it, and before anybody else speaks."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message.get("role") == "tool":
            call_id = message.get("tool_call_id")
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                yield f"{number}: the result of `{call_id}` belongs to no open call"
            continue
        if waiting:
            yield f"{number}: `{message.get('role')}` speaks before the results of {waiting}"
        waiting = [str(call.get("id")) for call in message.get("tool_calls") or ()]
        if len(set(waiting)) < len(waiting):
            yield f"{number}: the ids {waiting} are not distinct"
    if waiting:
        yield f"nothing answers {waiting}"


def _problems_of_encoding(messages: Sequence[Message]) -> Iterator[str]:
    try:
        json.dumps(list(messages), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        yield f"the conversation cannot be written as JSON in UTF-8: {error}"


def _problems_of_tools(tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = [str(tool.get("name")) for tool in tools]
    if len(set(names)) < len(names):
        yield "two tools have one name"
    for tool in tools:
        if not TOOL_NAME.fullmatch(str(tool.get("name"))):
            yield f"`{tool.get('name')}` cannot be the name of a tool"
        if tool.get("parameters", {}).get("type") != "object":
            yield f"the parameters of `{tool.get('name')}` are not an object"
