"""What every section of the settings is made of: the strict frozen model and its field types.

Also answers what the tree of settings looks like: its leaves, and what stands at a place.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, model_validator

from skills_runtime.config.secrets import REMEDY, is_variable_name, url_has_credentials


class Section(BaseModel):
    """A group of settings: frozen, strict about types, closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _nothing_is_an_empty_section(cls, value: Any) -> Any:
        return {} if value is None else value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _usable_path(value: Any) -> Any:
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise ValueError("must be the path of a file; use `null` for none")
    return value


def _variable_name(value: str) -> str:
    if not is_variable_name(value):
        raise ValueError("must be the name of an environment variable")
    return value


def _web_address(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not value.isprintable() or " " in value:
        raise ValueError("must be an `http` or `https` URL")
    if url_has_credentials(value):
        raise ValueError(f"must not carry credentials; {REMEDY}")
    return value


def _inner_path(value: str) -> str:
    path = PurePosixPath(value)
    inside = path.parts and not path.is_absolute() and ".." not in path.parts
    if not inside or not value.isprintable() or value.endswith("/"):
        raise ValueError("must be a relative path of a file below `deliverables/`")
    return value


LAX = Strict(strict=False)
"""For what a file writes in another type, as a list for a tuple; what is inside stays strict."""
Text = Annotated[str, AfterValidator(_not_blank)]
"""Text that says something."""
Texts = Annotated[tuple[Text, ...], LAX]
"""A list of texts; blank ones are refused because a blank prefix matches everything."""
FilePath = Annotated[Path, LAX, BeforeValidator(_usable_path)]
"""A path; relative ones are resolved when their layer is read."""
VariableName = Annotated[str, AfterValidator(_variable_name)]
"""The name of an environment variable."""
WebAddress = Annotated[str, AfterValidator(_web_address)]
"""An http or https URL without credentials."""
InnerPath = Annotated[str, AfterValidator(_inner_path)]
"""A relative path that stays below its directory."""
Count = Annotated[int, Field(ge=0)]
"""Zero or more."""
Positive = Annotated[int, Field(ge=1)]
"""One or more."""
Seconds = Annotated[float, Field(ge=0)]
"""A span of time, fractions allowed."""


def _as_section(annotation: object) -> type[Section] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, Section) else None


def leaves(model: type[Section], prefix: str = "") -> Iterator[str]:
    """The dotted key of every field that is not itself a section, in order of declaration."""
    for name, field in model.model_fields.items():
        section = _as_section(field.annotation)
        if section is None:
            yield prefix + name
        else:
            yield from leaves(section, f"{prefix}{name}.")


def section_at(model: type[Section], path: Sequence[str | int]) -> type[Section] | None:
    """The section that stands at a place of the tree, looking into lists of sections too."""
    found: type[Section] | None = model
    item: type[Section] | None = None
    for part in path:
        if isinstance(part, int):
            found = item
            continue
        field = found.model_fields.get(part) if found else None
        found = _as_section(field.annotation) if field else None
        item = (
            next((inner for each in get_args(field.annotation) if (inner := _as_section(each))), None)
            if field
            else None
        )
    return found
