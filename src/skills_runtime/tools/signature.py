"""What a callable is called, what it says of itself, and what it takes: a function, an object or a `partial`."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import ToolContext

if TYPE_CHECKING:
    from pydantic import BaseModel

Function = Callable[..., Any]


class Parameters(msgspec.Struct, frozen=True):
    """The parameters that a model may fill in, with their types and defaults, and the one for the runtime."""

    told: Mapping[str, tuple[Any, Any]]
    context: str | None = None

    def filled(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """The arguments, with the context where one is wanted."""
        return dict(arguments) if self.context is None else {**arguments, self.context: context}


def name_of(function: Function) -> str:
    """The name of a function, or of the class of an object that can be called."""
    inner = _unbound(function)
    return getattr(inner, "__name__", type(inner).__name__)


def description_of(function: Function) -> str:
    """What its author says that it does, which may be nothing."""
    inner = _unbound(function)
    return inspect.getdoc(inner) or inspect.cleandoc(_written(inner).__doc__ or "")


def parameters_of(function: Function) -> Parameters:
    """What has to be given by name; what a `partial` has given already is nobody else's business."""
    hints = get_type_hints(_written(_unbound(function)), include_extras=True)
    given = _given(function)
    told: dict[str, tuple[Any, Any]] = {}
    context = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in given:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ValidationFailed(
                f"the parameter `{parameter.name}` of `{name_of(function)}` cannot be described to a model",
                hint="use named parameters only",
            )
        kind = hints.get(parameter.name, Any)
        if ToolContext in (kind, *get_args(kind)):
            context = parameter.name
        else:
            told[parameter.name] = (kind, ... if parameter.default is parameter.empty else parameter.default)
    return Parameters(told, context)


class ArgumentCheck:
    """Checks arguments as the JSON that they are, and makes of them what a function takes."""

    def __init__(self, title: str, parameters: Parameters) -> None:
        from pydantic import ConfigDict, create_model

        # Under names of our own: no parameter is then taken for a method or a private attribute of the model.
        self._parameters = {f"argument_{number}": name for number, name in enumerate(parameters.told)}
        fields: dict[str, Any] = {
            field: (_named(parameters.told[name][0], name), parameters.told[name][1])
            for field, name in self._parameters.items()
        }
        self._model: type[BaseModel] = create_model(title, __config__=ConfigDict(extra="forbid"), **fields)

    def schema(self) -> dict[str, Any]:
        """What a model is told."""
        schema = self._model.model_json_schema()
        schema.pop("title", None)
        return schema

    def typed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by the names of the parameters; raises pydantic's `ValidationError`."""
        # Read as JSON: only there does a strict type take text for a date, or a list for a set.
        checked = self._model.model_validate_json(msgspec.json.encode(arguments))
        return {name: getattr(checked, field) for field, name in self._parameters.items()}


def _unbound(function: Function) -> Function:
    while isinstance(function, partial):
        function = function.func
    return function


def _written(function: Function) -> Function:
    """Where the annotations of a callable are: for an object they are at its class."""
    is_code = inspect.isroutine(function) or inspect.isclass(function)
    return function if is_code else type(function).__call__


def _given(function: Function) -> set[str]:
    names = set[str]()
    while isinstance(function, partial):
        names.update(function.keywords)
        function = function.func
    return names


def _named(kind: Any, name: str) -> Any:
    """The type under the name that the model uses, unless its author has chosen another."""
    from pydantic import Field

    bare, *facts = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    return Annotated[(bare, Field(alias=name), *facts)]
