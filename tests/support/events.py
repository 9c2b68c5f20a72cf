"""Events without a log, random payloads, and the message rules that model providers enforce."""

import json
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin

import msgspec
from hypothesis import strategies as st

from skills_runtime.events import PAYLOAD_TYPES, Event, Payload, Unknown
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import ChatRequest


def numbered(payloads: Iterable[Payload], *, step_ids: Mapping[int, str] | None = None) -> list[Event]:
    """Return the payloads as events of one run, a second apart; `step_ids` gives some of them a step."""
    return [
        Event(
            seq=seq,
            type=payload.event_type,
            timestamp=f"2026-01-01T00:{seq // 60:02d}:{seq % 60:02d}Z",
            run_id="run_test",
            payload=payload,
            turn_id="turn_1",
            step_id=(step_ids or {}).get(seq),
            epoch=1,
            mac=f"{seq:032x}",
        )
        for seq, payload in enumerate(payloads)
    ]


def order_problem(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return what a provider would reject: a result without its call, or a call without its result; else nothing."""
    waiting: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"message {number} answers a call that is not open"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"message {number} comes before the results of {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if len(waiting) != len(set(waiting)):
            return f"message {number} uses an id twice"
    return f"nothing answers {waiting}" if waiting else ""


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WHOLE = st.integers(min_value=0, max_value=2**53)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT | st.sampled_from(["ok", "duration_ms", "data", "error_kind"]), JSON, max_size=4)

RELATED: dict[str, st.SearchStrategy[Any]] = {
    "call_id": st.sampled_from(["call_1", "call_2", "call_3"]),
    "approval_key": st.sampled_from(["key_1", "key_2"]),
    "tool": st.sampled_from(["read", "write", "shell"]),
    "kind": st.sampled_from(["steer", "answer", "approve", "cancel"]),
    "model": st.sampled_from(["large", "small"]),
    "path": st.sampled_from(["workspace/a", "workspace/b", "./workspace//a", "workspace/a -> workspace/b"]),
    "op": st.sampled_from(["read", "write", "delete", "rename", "list"]),
    "decision": st.sampled_from(["approved", "approved_for_session", "denied", "abort"]),
    "delta_type": st.sampled_from(["text", "reasoning", "tool_calls"]),
    "before": st.sampled_from([*RunStatus, "unheard of"]),
    "after": st.sampled_from([*RunStatus, "unheard of"]),
    "kept_messages": st.integers(min_value=0, max_value=9),
}
"""Values that make events refer to each other; others are tried as well."""


def _values(kind: Any) -> st.SearchStrategy[Any]:
    """Return values of a field's type."""
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: TEXT,
        int: WHOLE,
        float: st.floats(min_value=0, max_value=1e6),
        bool: st.booleans(),
        Any: JSON,
    }
    arguments = get_args(kind)
    if kind in plain:
        return plain[kind]
    if kind in (None, types.NoneType):
        return st.none()
    if get_origin(kind) is Literal:
        return st.sampled_from(arguments)
    if get_origin(kind) in (Union, types.UnionType):
        return st.one_of([_values(argument) for argument in arguments])
    if get_origin(kind) is list:
        return st.lists(_values(arguments[0]), max_size=3)
    if get_origin(kind) is dict:
        return OBJECTS if arguments[1] is Any else st.dictionaries(TEXT, _values(arguments[1]), max_size=3)
    if issubclass(kind, msgspec.Struct):
        return structs(kind)
    raise NotImplementedError(f"say here how to make a `{kind}`")


def _fields(kind: type[msgspec.Struct]) -> dict[str, st.SearchStrategy[Any]]:
    return {
        field.name: RELATED[field.name] | _values(field.type) if field.name in RELATED else _values(field.type)
        for field in msgspec.structs.fields(kind)
    }


@cache
def structs(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Return values of a class, with every field set."""
    build: Callable[..., msgspec.Struct] = kind
    return st.builds(build, **_fields(kind))


NAMES = st.sampled_from([*PAYLOAD_TYPES, "of_the_future"])


def _unknown(data: dict[str, Any]) -> Payload:
    return Unknown(data=data)


@cache
def payloads_of(name: str) -> st.SearchStrategy[Payload]:
    """Return payloads of one event type; arbitrary ones for an unknown type."""
    kind = PAYLOAD_TYPES.get(name)
    return structs(kind) if kind is not None else OBJECTS.map(_unknown)


@st.composite
def events(draw: st.DrawFn, *, seq: int = 0) -> Event:
    """Return one event of any type."""
    name = draw(NAMES)
    return Event(
        seq=seq,
        type=name,
        timestamp=f"2026-01-01T00:00:{draw(st.integers(0, 59)):02d}.{draw(st.integers(0, 999999)):06d}Z",
        run_id="run_test",
        payload=draw(payloads_of(name)),
        turn_id=draw(st.none() | st.sampled_from(["turn_1", "turn_2"])),
        step_id=draw(st.none() | st.sampled_from(["step_1", "step_12", "odd", "step_" + "9" * 5000, "step_٣"])),
        epoch=draw(st.integers(0, 3)),
        mac=draw(st.sampled_from(["", "0" * 32, "f" * 32])),
    )


@st.composite
def histories(draw: st.DrawFn, *, max_size: int = 12) -> list[Event]:
    """Return random events in log order; they need not be consistent."""
    return [draw(events(seq=number)) for number in range(draw(st.integers(0, max_size)))]


def line_of(event: Event, **more: Any) -> bytes:
    """Return the event as a line of a log, with the keys in order."""
    payload = event.payload.data if isinstance(event.payload, Unknown) else event.payload
    names = ("seq", "type", "timestamp", "run_id", "turn_id", "step_id")
    head = {name: value for name in names if (value := getattr(event, name)) is not None}
    return msgspec.json.encode(head | {"payload": payload, "epoch": event.epoch} | more | {"mac": event.mac})


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
    """Fail with every rule that the request violates."""
    problems = [*problems_of(request.messages), *_problems_of_tools(request.tools)]
    assert not problems, "\n".join(problems)


def problems_of(messages: Sequence[Message]) -> list[str]:
    """Return every rule that a conversation violates, each with the number of its message."""
    each = [
        f"{number}: {problem}" for number, message in enumerate(messages) for problem in _problems_of_message(message)
    ]
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
    # Each call is answered once, directly after the answer that made it, before any other message.
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
