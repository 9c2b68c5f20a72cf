"""Random events: every kind of payload with every kind of value, some of them related to each other.

Strategies are derived from the classes, so a new event type or a new field is tried without a change here.
"""

import types
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

from skills_runtime.events import PAYLOAD_TYPES, Event, Payload, Unknown
from skills_runtime.events.states import RunStatus

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
"""Values that make events refer to each other; other values are tried as well."""


def _values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of the type of a field."""
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
        return st.one_of([_values(one) for one in arguments])
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
    """Values of a class, with every field set."""
    build: Callable[..., msgspec.Struct] = kind
    return st.builds(build, **_fields(kind))


NAMES = st.sampled_from([*PAYLOAD_TYPES, "of_the_future"])


def _unknown(data: dict[str, Any]) -> Payload:
    return Unknown(data=data)


@cache
def payloads_of(name: str) -> st.SearchStrategy[Payload]:
    """Payloads of one event type; for an unknown one, anything."""
    kind = PAYLOAD_TYPES.get(name)
    return structs(kind) if kind is not None else OBJECTS.map(_unknown)


@st.composite
def events(draw: st.DrawFn, *, seq: int = 0) -> Event:
    """One event of any type."""
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
    """Events in order, as a log would hold them; which of them fit together is left to chance."""
    return [draw(events(seq=number)) for number in range(draw(st.integers(0, max_size)))]


def line_of(event: Event, **more: Any) -> bytes:
    """The event as a line of a log, with the keys in their order."""
    payload = event.payload.data if isinstance(event.payload, Unknown) else event.payload
    names = ("seq", "type", "timestamp", "run_id", "turn_id", "step_id")
    head = {name: value for name in names if (value := getattr(event, name)) is not None}
    return msgspec.json.encode(head | {"payload": payload, "epoch": event.epoch} | more | {"mac": event.mac})
