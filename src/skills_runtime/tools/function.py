"""A tool from a typed Python function: its signature is the schema, its docstring the description.

pydantic is imported only when a function becomes a tool.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack, cast, overload

import msgspec

from skills_runtime.errors import ToolError, ValidationFailed
from skills_runtime.ports import Effect, Recovery, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.signature import ArgumentCheck, Function, Parameters, description_of, name_of, parameters_of
from skills_runtime.tools.threads import in_thread

NAME = re.compile("[A-Za-z0-9_-]{1,64}")
"""What services take as the name of a tool."""

_NOT_JSON = "offer a function whose parameters have types that JSON can hold"
_OUT_OF_SIGHT = "define or import its types at the top of its module, not in a function nor for type checkers only"


class Offer(TypedDict, total=False):
    """What may be said of a function that becomes a tool; `tool_from` says what each is if it is left out."""

    name: str | None
    effect: Effect
    recovery: Recovery | None
    timeout_sec: float | None
    max_parallel: int | None
    verify: Function | None


class Callee(msgspec.Struct, frozen=True):
    """A function and what it takes."""

    function: Function
    parameters: Parameters


P = ParamSpec("P")
R = TypeVar("R")


class FunctionTool(Generic[P, R]):
    """Calls a function with validated, typed arguments; one that is not async runs in a thread.

    A thread cannot be ended: when such a call is cancelled or out of time, the run goes on without it. Called from
    Python, it is the function it was made of.
    """

    def __init__(
        self, spec: ToolSpec, check: ArgumentCheck, callee: Callee, *, is_async: bool, verify: Callee | None = None
    ) -> None:
        self.spec = spec
        self._check = check
        self._callee = callee
        self._is_async = is_async
        self._verify = verify

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, without validation."""
        return self._callee.function(*args, **kwargs)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Validate, call, and wrap what comes back."""
        typed = self._callee.parameters.filled(self._typed(arguments), context)
        function = self._callee.function
        value = function(**typed) if self._is_async else await in_thread(_called(function), **typed)
        return as_result(await _whole(value))

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """What came of a call that was under way when the runtime died, by a function that can find out."""
        if self._verify is None:
            return None
        typed = self._verify.parameters.filled(self._typed(arguments), context)
        value = await _whole(await in_thread(_called(self._verify.function), **typed))
        return None if value is None else as_result(value)

    def _typed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from pydantic_core import ValidationError

        try:
            return self._check.typed(arguments)
        except ValidationError as error:
            raise ToolError("validation", _problems(error)) from error


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(**offer: Unpack[Offer]) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None, /, **offer: Unpack[Offer]
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a typed function: `@tool`, or `@tool(effect="read")`; give it to `Agent(tools=[...])`."""

    def make(function: Callable[P, R]) -> FunctionTool[P, R]:
        return tool_from(function, **offer)

    return make if function is None else make(function)


def tool_from(  # noqa: PLR0913 - by name only, and each may be left out
    function: Function,
    *,
    name: str | None = None,
    effect: Effect = "effectful",
    recovery: Recovery | None = None,
    timeout_sec: float | None = None,
    max_parallel: int | None = None,
    verify: Function | None = None,
) -> FunctionTool[Any, Any]:
    """The tool a function amounts to; a parameter annotated `ToolContext` is filled in by the runtime.

    `verify` takes the same arguments and finds out what came of an interrupted call: nothing means it had no effect. It
    may have a parameter for the context as well.
    """
    import inspect

    from pydantic import PydanticUserError

    title = name or name_of(function)
    _check_offer(title, timeout_sec, max_parallel)
    try:
        callee = Callee(function, parameters_of(function))
        verifier = Callee(verify, parameters_of(verify)) if verify is not None else None
        check = ArgumentCheck(title, callee.parameters)
        schema = check.schema()
    except (NameError, TypeError, ValueError, PydanticUserError) as error:
        hint = _OUT_OF_SIGHT if isinstance(error, NameError) else _NOT_JSON
        reason = str(error).partition("\n")[0]
        raise ValidationFailed(f"`{title}` cannot be described to a model: {reason}", hint=hint) from error
    spec = ToolSpec(
        name=title,
        description=description_of(function) or title,
        parameters=schema,
        effect=effect,
        recovery="verify" if verify is not None else recovery,
        timeout_sec=timeout_sec,
        max_parallel=max_parallel,
    )
    return FunctionTool(spec, check, callee, is_async=inspect.iscoroutinefunction(function), verify=verifier)


def _check_offer(name: str, timeout_sec: float | None, max_parallel: int | None) -> None:
    """Refuse what no service takes, or would never let the call end well."""
    if not NAME.fullmatch(name):
        raise ValidationFailed(
            f"`{name}` is no name for a tool", hint="up to 64 letters, digits, `_` and `-`: give it one with `name=`"
        )
    if timeout_sec is not None and not 0 < timeout_sec < float("inf"):
        raise ValidationFailed(f"`{name}` has no time to run in: `timeout_sec` is {timeout_sec}", hint="give it more")
    if max_parallel is not None and max_parallel < 1:
        raise ValidationFailed(
            f"`{name}` could never be called: `max_parallel` is {max_parallel}", hint="allow one call"
        )


def _called(function: Function) -> Function:
    """The function, which gives what it yields as a list: where it is called, and not where the result is read."""

    def call(**arguments: Any) -> Any:
        value = function(**arguments)
        return list(cast(Iterator[Any], value)) if isinstance(value, Iterator) else value

    return call


async def _whole(value: Any) -> Any:
    """What comes of a value that has to be waited for, whoever made it: a wrapper may not look async."""
    while isinstance(value, Awaitable):
        value = await cast(Awaitable[Any], value)
    if isinstance(value, AsyncIterator):
        return [one async for one in cast(AsyncIterator[Any], value)]
    return value


def as_result(value: Any) -> ToolResult:
    """Whatever a function returns, as the one envelope."""
    if isinstance(value, ToolResult):
        return value
    data = _plain(value)
    return ToolResult(ok=True, stdout=data if isinstance(data, str) else _json(data), data={"result": data})


def _problems(error: Any) -> str:
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors())


def _plain(value: Any) -> Any:
    """The value as data, or as Python shows it: the call was made, and what JSON cannot hold does not undo that."""
    from pydantic_core import to_jsonable_python

    for bytes_mode in ("utf8", "base64"):
        with suppress(ValueError, RecursionError):  # bytes that are no text; a value that holds itself, or is too deep
            return to_jsonable_python(value, fallback=str, bytes_mode=bytes_mode)
    return _shown(value)


def _shown(value: Any) -> str:
    import reprlib
    import sys

    brief = reprlib.Repr()  # which goes down a few levels, and says where it stops
    for name in vars(brief):
        if name.startswith("max") and name != "maxlevel":
            setattr(brief, name, sys.maxsize)
    return brief.repr(value)


def _json(data: Any) -> str:
    import json

    return json.dumps(data, ensure_ascii=False)
