"""A tool from a typed Python function: its signature is the schema, its docstring the description.

pydantic is imported only when a function becomes a tool.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

from skills_runtime.errors import ToolError, ValidationFailed
from skills_runtime.ports import Effect, Recovery, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.threads import in_thread

if TYPE_CHECKING:
    from pydantic import BaseModel

Function = Callable[..., Any]
NAME = re.compile("[A-Za-z0-9_-]{1,64}")
"""What services take as the name of a tool."""


class FunctionTool:
    """Calls a function with validated, typed arguments; one that is not async runs in a thread.

    A thread cannot be ended: when such a call is cancelled or out of time, the run goes on without it.
    """

    def __init__(
        self,
        spec: ToolSpec,
        function: Function,
        model: "type[BaseModel]",
        *,
        context_name: str | None,
        is_async: bool,
        verify: Function | None = None,
    ) -> None:
        self.spec = spec
        self._verify = verify
        self._function = function
        self._model = model
        self._names = tuple(model.model_fields)
        self._context_name = context_name
        self._is_async = is_async

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Validate, call, and wrap what comes back."""
        typed = self._typed(arguments)
        if self._context_name is not None:
            typed[self._context_name] = context
        value = self._function(**typed) if self._is_async else await in_thread(_called(self._function), **typed)
        return as_result(await _whole(value))

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """What came of a call that was under way when the runtime died, by a function that can find out."""
        if self._verify is None:
            return None
        value = await _whole(await in_thread(_called(self._verify), **self._typed(arguments)))
        return None if value is None else as_result(value)

    def _typed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from pydantic_core import ValidationError

        try:
            model = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolError("validation", _problems(error)) from error
        return {name: getattr(model, name) for name in self._names}


def tool_from(
    function: Function,
    *,
    name: str | None = None,
    effect: Effect = "effectful",
    recovery: Recovery | None = None,
    timeout_sec: float | None = None,
    verify: Function | None = None,
) -> FunctionTool:
    """The tool a function amounts to; a parameter annotated `ToolContext` is filled in by the runtime.

    `verify` takes the same arguments and finds out what came of an interrupted call: nothing means it had no effect.
    """
    import inspect

    from pydantic import ConfigDict, PydanticUserError, create_model

    title = name or getattr(function, "__name__", type(function).__name__)
    _check_offer(title, timeout_sec)
    try:
        parameters, context_name = _parameters(function)
        model = create_model(title, __config__=ConfigDict(extra="forbid"), **parameters)
        schema = model.model_json_schema()
    except (NameError, TypeError, PydanticUserError) as error:
        raise ValidationFailed(
            f"`{title}` cannot be described to a model: {str(error).partition(chr(10))[0]}",
            hint="offer a function whose parameters have types that JSON can hold",
        ) from error
    schema.pop("title", None)
    spec = ToolSpec(
        name=title,
        description=inspect.getdoc(function) or title,
        parameters=schema,
        effect=effect,
        recovery="verify" if verify is not None else recovery,
        timeout_sec=timeout_sec,
    )
    is_async = inspect.iscoroutinefunction(function)
    return FunctionTool(spec, function, model, context_name=context_name, is_async=is_async, verify=verify)


def _check_offer(name: str, timeout_sec: float | None) -> None:
    """Refuse what no service takes, or would never let the call end well."""
    if not NAME.fullmatch(name):
        raise ValidationFailed(
            f"`{name}` is no name for a tool", hint="up to 64 letters, digits, `_` and `-`: give it one with `name=`"
        )
    if timeout_sec is not None and not 0 < timeout_sec < float("inf"):
        raise ValidationFailed(f"`{name}` has no time to run in: `timeout_sec` is {timeout_sec}", hint="give it more")


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


def _parameters(function: Function) -> tuple[dict[str, Any], str | None]:
    import inspect

    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    context_name = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ValidationFailed(
                f"the parameter `{parameter.name}` of `{function.__name__}` cannot be described to a model",
                hint="use named parameters only",
            )
        kind = hints.get(parameter.name, Any)
        if ToolContext in (kind, *get_args(kind)):
            context_name = parameter.name
        else:
            default: Any = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (kind, default)
    return fields, context_name


def _problems(error: Any) -> str:
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors())


def _plain(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    try:
        return to_jsonable_python(value, fallback=str)
    except UnicodeDecodeError:  # bytes that are no text
        return to_jsonable_python(value, fallback=str, bytes_mode="base64")


def _json(data: Any) -> str:
    import json

    return json.dumps(data, ensure_ascii=False)
