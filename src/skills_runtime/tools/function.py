"""Tools from typed Python functions: the signature is the schema, the docstring the description.

A function that is not async runs in a thread. pydantic is imported only when a function becomes a tool.
"""

import asyncio
import contextvars
import inspect
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import msgspec

from skills_runtime.errors import ToolError, ValidationFailed
from skills_runtime.ports import Effect, Recovery, ToolApproval, ToolContext, ToolResult, ToolSpec

if TYPE_CHECKING:
    from pydantic import BaseModel

Function = Callable[..., Any]


class Parameters(msgspec.Struct, frozen=True):
    """Parameters that the model fills in, with types and defaults, and the one for the `ToolContext`."""

    model_parameters: Mapping[str, tuple[Any, Any]]
    context: str | None = None

    def bind(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Return the arguments, plus the context if the function has a parameter for it."""
        return dict(arguments) if self.context is None else {**arguments, self.context: context}


def function_name(function: Function) -> str:
    """Return the name of a function, or of the class of a callable object."""
    inner = _unbound(function)
    return getattr(inner, "__name__", type(inner).__name__)


def function_description(function: Function) -> str:
    """Return the docstring of a function, which may be empty."""
    inner = _unbound(function)
    return inspect.getdoc(inner) or inspect.cleandoc(_annotated_callable(inner).__doc__ or "")


def read_parameters(function: Function) -> Parameters:
    """Read the named parameters of a function; those that a `partial` has already bound are left out."""
    hints = get_type_hints(_annotated_callable(_unbound(function)), include_extras=True)
    bound_names = _bound_names(function)
    model_parameters: dict[str, tuple[Any, Any]] = {}
    context = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in bound_names:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ValidationFailed(
                f"the parameter `{parameter.name}` of `{function_name(function)}` cannot be described to a model",
                hint="use named parameters only",
            )
        kind = hints.get(parameter.name, Any)
        if ToolContext in (kind, *get_args(kind)):
            context = parameter.name
        else:
            model_parameters[parameter.name] = (
                kind,
                ... if parameter.default is parameter.empty else parameter.default,
            )
    return Parameters(model_parameters, context)


class ArgumentCheck:
    """Validates arguments as JSON and converts them to the types of the parameters."""

    def __init__(self, title: str, parameters: Parameters) -> None:
        from pydantic import ConfigDict, create_model

        # Fields have our own names, so that no parameter clashes with a method or private attribute of the model.
        self._parameters = {f"argument_{number}": name for number, name in enumerate(parameters.model_parameters)}
        fields: dict[str, Any] = {
            field: (_with_alias(parameters.model_parameters[name][0], name), parameters.model_parameters[name][1])
            for field, name in self._parameters.items()
        }
        self._model: type[BaseModel] = create_model(title, __config__=ConfigDict(extra="forbid"), **fields)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema for the model."""
        schema = self._model.model_json_schema()
        schema.pop("title", None)
        return schema

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return typed arguments by parameter name; raises pydantic's `ValidationError`."""
        # Validated as JSON: only then does a strict type accept text for a date, or a list for a set.
        checked = self._model.model_validate_json(msgspec.json.encode(arguments))
        return {name: getattr(checked, field) for field, name in self._parameters.items()}


def _unbound(function: Function) -> Function:
    while isinstance(function, partial):
        function = function.func
    return function


def _annotated_callable(function: Function) -> Function:
    """Return the object that holds the annotations: for a callable object that is `__call__` of its class."""
    is_code = inspect.isroutine(function) or inspect.isclass(function)
    return function if is_code else type(function).__call__


def _bound_names(function: Function) -> set[str]:
    names = set[str]()
    while isinstance(function, partial):
        names.update(function.keywords)
        function = function.func
    return names


def _with_alias(kind: Any, name: str) -> Any:
    """Add the parameter name as an alias, unless the author has set one."""
    from pydantic import Field

    bare, *facts = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    return Annotated[(bare, Field(alias=name), *facts)]


T = TypeVar("T")
Job = Callable[[], Callable[[], object]]
"""Runs a function and returns a callback that delivers the result."""

# Idle threads kept for the next call: starting one costs more than a small function.
MAX_IDLE_THREADS = 64

# Only appended to and popped from: both are atomic, so no lock is needed.
_idle: list["_Worker"] = []
# A child has the list, but not the threads.
os.register_at_fork(after_in_child=_idle.clear)


async def in_thread(function: Callable[..., T], /, **arguments: Any) -> T:
    """Call a function in a thread and return its value; a cancelled call does not wait for the thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    call = partial(contextvars.copy_context().run, function, **arguments)

    def work() -> Callable[[], object]:
        with _Outcome(future) as outcome:
            outcome.value = call()
        return partial(loop.call_soon_threadsafe, outcome.deliver)

    _worker().submit(work)
    return await future


class _Outcome(Generic[T]):
    """Value or error of a call, on its way from the thread to the event loop."""

    value: T

    def __init__(self, future: "asyncio.Future[T]") -> None:
        self._future = future
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        # A future cannot hold a StopIteration.
        self._error = RuntimeError(f"StopIteration: {error}") if isinstance(error, StopIteration) else error
        return True

    def deliver(self) -> None:
        """Complete the future, unless its waiter was cancelled."""
        if self._future.done():
            return
        if self._error is not None:
            self._future.set_exception(self._error)
        else:
            self._future.set_result(self.value)


class _Worker:
    """A thread that runs one job after another."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        threading.Thread(target=self._run, name="tool", daemon=True).start()

    def submit(self, job: Job) -> None:
        """Queue a job."""
        self._jobs.put(job)

    def _run(self) -> None:
        reusable = True
        while reusable:
            deliver = self._jobs.get()()
            reusable = len(_idle) < MAX_IDLE_THREADS
            if reusable:
                # Before the result is delivered, so that the next call can reuse it.
                _idle.append(self)
            # The event loop is closed, so there is no waiter left.
            with suppress(RuntimeError):
                deliver()
            del deliver  # do not keep the result alive until the next job


def _worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()


NAME = re.compile("[A-Za-z0-9_-]{1,64}")
"""Tool names that model services accept."""

_HINT_NOT_JSON = "offer a function whose parameters have types that JSON can hold"
_HINT_TYPES_NOT_VISIBLE = (
    "define or import its types at the top of its module, not in a function nor for type checkers only"
)


class Offer(TypedDict, total=False):
    """Options of a function that becomes a tool; `tool_from` documents the defaults."""

    name: str | None
    effect: Effect
    recovery: Recovery | None
    timeout_sec: float | None
    max_parallel: int | None
    verify: Function | None
    approval: ToolApproval


class Callee(msgspec.Struct, frozen=True):
    """A function and its parameters."""

    function: Function
    parameters: Parameters


P = ParamSpec("P")
R = TypeVar("R")


class FunctionTool(Generic[P, R]):
    """Calls a function with validated, typed arguments; one that is not async runs in a thread.

    A thread cannot be ended: when such a call is cancelled or out of time, the run continues without it. Called from
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

    def as_replacement(self) -> "FunctionTool[P, R]":
        """Return the tool as it takes the place of a built-in one: the policy mode decides, unless it always asks."""
        spec = msgspec.structs.replace(self.spec, approval="ask" if self.spec.approval == "ask" else None)
        return FunctionTool(spec, self._check, self._callee, is_async=self._is_async, verify=self._verify)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, without validation."""
        return self._callee.function(*args, **kwargs)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Validate the arguments, call the function and wrap its value."""
        bound = self._callee.parameters.bind(self._validate(arguments), context)
        function = self._callee.function
        value = function(**bound) if self._is_async else await in_thread(_with_list_result(function), **bound)
        return to_result(await _resolve_value(value))

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """Find out what an interrupted call did, if the tool has a `verify` function."""
        if self._verify is None:
            return None
        bound = self._verify.parameters.bind(self._validate(arguments), context)
        value = await _resolve_value(await in_thread(_with_list_result(self._verify.function), **bound))
        return None if value is None else to_result(value)

    def _validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from pydantic_core import ValidationError

        try:
            return self._check.validate(arguments)
        except ValidationError as error:
            raise ToolError(
                "validation",
                "; ".join(
                    f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
                    for problem in error.errors()
                ),
            ) from error


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
    approval: ToolApproval = "pass",
) -> FunctionTool[Any, Any]:
    """Make a tool of a function; the runtime fills in a parameter annotated `ToolContext`.

    It is code of the program that registers it, so its calls run unless a rule objects; with `approval="ask"` every
    call asks.

    `verify` takes the same arguments and finds out what came of an interrupted call: nothing means it had no effect. It
    may have a parameter for the context as well.
    """
    import inspect

    from pydantic import PydanticUserError

    title = name or function_name(function)
    _check_offer(title, timeout_sec, max_parallel)
    if approval not in get_args(ToolApproval):
        raise ValidationFailed(f"`approval` of `{title}` is {approval!r}", hint="use `pass` or `ask`")
    try:
        callee = Callee(function, read_parameters(function))
        verifier = Callee(verify, read_parameters(verify)) if verify is not None else None
        check = ArgumentCheck(title, callee.parameters)
        schema = check.schema()
    except (NameError, TypeError, ValueError, PydanticUserError) as error:
        hint = _HINT_TYPES_NOT_VISIBLE if isinstance(error, NameError) else _HINT_NOT_JSON
        reason = str(error).partition("\n")[0]
        raise ValidationFailed(f"`{title}` cannot be described to a model: {reason}", hint=hint) from error
    spec = ToolSpec(
        name=title,
        description=function_description(function) or title,
        parameters=schema,
        effect=effect,
        recovery="verify" if verify is not None else recovery,
        timeout_sec=timeout_sec,
        max_parallel=max_parallel,
        approval=approval,
    )
    return FunctionTool(spec, check, callee, is_async=inspect.iscoroutinefunction(function), verify=verifier)


def _check_offer(name: str, timeout_sec: float | None, max_parallel: int | None) -> None:
    """Reject names and limits that no service accepts or that no call could meet."""
    if not NAME.fullmatch(name):
        raise ValidationFailed(
            f"`{name}` is not a valid tool name", hint="use up to 64 letters, digits, `_` and `-`, or pass `name=`"
        )
    if timeout_sec is not None and not 0 < timeout_sec < float("inf"):
        raise ValidationFailed(
            f"`timeout_sec` of `{name}` is {timeout_sec}, not a positive number", hint="use a positive number"
        )
    if max_parallel is not None and max_parallel < 1:
        raise ValidationFailed(
            f"`max_parallel` of `{name}` is {max_parallel}, and must be at least 1", hint="use 1 or more"
        )


def _with_list_result(function: Function) -> Function:
    """Wrap a function so that it collects what it yields into a list, in the thread that calls it."""

    def call(**arguments: Any) -> Any:
        value = function(**arguments)
        return list(cast(Iterator[Any], value)) if isinstance(value, Iterator) else value

    return call


async def _resolve_value(value: Any) -> Any:
    """Await a value until it is final and collect async iterators; a wrapper may hide that it is async."""
    while isinstance(value, Awaitable):
        value = await cast(Awaitable[Any], value)
    if isinstance(value, AsyncIterator):
        return [item async for item in cast(AsyncIterator[Any], value)]
    return value


def to_result(value: Any) -> ToolResult:
    """Wrap the value of a function in a `ToolResult`."""
    if isinstance(value, ToolResult):
        return value
    data = _to_jsonable(value)
    return ToolResult(ok=True, stdout=data if isinstance(data, str) else _json(data), data={"result": data})


def _to_jsonable(value: Any) -> Any:
    """Convert a value to JSON data, or to its `repr`: the call has been made, so an odd value is no error."""
    from pydantic_core import to_jsonable_python

    for bytes_mode in ("utf8", "base64"):
        # Bytes that are not UTF-8; a value that contains itself or is too deep.
        with suppress(ValueError, RecursionError):
            return to_jsonable_python(value, fallback=str, bytes_mode=bytes_mode)
    return _render_repr(value)


def _render_repr(value: Any) -> str:
    import reprlib
    import sys

    brief = reprlib.Repr()  # limits the depth, and marks where it stops
    for name in vars(brief):
        if name.startswith("max") and name != "maxlevel":
            setattr(brief, name, sys.maxsize)
    return brief.repr(value)


def _json(data: Any) -> str:
    import json

    return json.dumps(data, ensure_ascii=False)
