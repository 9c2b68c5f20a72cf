"""A tool from a typed Python function: its signature is the schema, its docstring the description.

pydantic is imported only when a function becomes a tool.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from skills_runtime.errors import ToolError, ValidationFailed
from skills_runtime.ports import Effect, Recovery, ToolContext, ToolResult, ToolSpec
from skills_runtime.tools.threads import in_thread

if TYPE_CHECKING:
    from pydantic import BaseModel

Function = Callable[..., Any]


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
        self._context_name = context_name
        self._is_async = is_async

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Validate, call, and wrap what comes back."""
        typed = self._typed(arguments)
        if self._context_name is not None:
            typed[self._context_name] = context
        if self._is_async:
            value = await cast(Awaitable[Any], self._function(**typed))
        else:
            value = await in_thread(self._function, **typed)
        return as_result(value)

    async def verify(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult | None:
        """What came of a call that was under way when the runtime died, by a function that can find out."""
        if self._verify is None:
            return None
        found = await in_thread(self._verify, **self._typed(arguments))
        value = await cast(Awaitable[Any], found) if isinstance(found, Awaitable) else found
        return None if value is None else as_result(value)

    def _typed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from pydantic import ValidationError

        try:
            model = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolError("validation", _problems(error)) from error
        return {name: getattr(model, name) for name in self._model.model_fields}


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

    from pydantic import ConfigDict, create_model

    parameters, context_name = _parameters(function)
    title = name or function.__name__
    model = create_model(title, __config__=ConfigDict(extra="forbid"), **parameters)
    schema = model.model_json_schema()
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
        if kind is ToolContext:
            context_name = parameter.name
        else:
            default: Any = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (kind, default)
    return fields, context_name


def _problems(error: Any) -> str:
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors())


def _plain(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


def _json(data: Any) -> str:
    import json

    return json.dumps(data, ensure_ascii=False)
