"""Names that users depend on still exist; `tests/fixtures/stable_names.json` records them.

To record added names, run `python -m tests.test_stable_names`. Never remove one.
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
from pydantic import BaseModel
from typer.main import get_command

from scripts.openapi import text as openapi_text
from skills_runtime.cli.main import build
from skills_runtime.config import Settings
from skills_runtime.errors import EXIT_CODES
from skills_runtime.events import PAYLOAD_TYPES
from skills_runtime.tools import builtin_tools
from tests.support import ROOT

RECORD = ROOT / "tests" / "fixtures" / "stable_names.json"
SECTIONS = ("events", "exit codes", "settings", "commands", "http", "tools")


def event_names() -> Iterator[str]:
    for event_type, payload in PAYLOAD_TYPES.items():
        yield event_type
        yield from (f"{event_type}.{field}" for field in payload.__struct_encode_fields__)


def setting_names(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        section: Any = field.annotation
        if inspect.isclass(section) and issubclass(section, BaseModel):
            yield from setting_names(section, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def command_names(command: Any, path: str) -> Iterator[str]:
    yield path
    for parameter in command.params:
        yield from (f"{path} {option}" for option in (*parameter.opts, *parameter.secondary_opts) if option[0] == "-")
    for name, child in getattr(command, "commands", {}).items():
        yield from command_names(child, f"{path} {name}")


def http_names(document: Mapping[str, Any]) -> Iterator[str]:
    schemas = document["components"]["schemas"]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            route = f"{method.upper()} {path}"
            yield route
            yield from (f"{route} ?{parameter['name']}" for parameter in operation.get("parameters", ()))
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            schema = schemas.get(str(body.get("$ref", "")).rpartition("/")[2], body)
            yield from (f"{route} {field}" for field in schema.get("properties", ()))


def tool_names() -> Iterator[str]:
    for tool in builtin_tools():
        yield tool.spec.name
        properties = cast("Mapping[str, Any]", tool.spec.parameters.get("properties", {}))
        yield from (f"{tool.spec.name}({argument})" for argument in properties)


def current_names() -> dict[str, list[str]]:
    names = (
        event_names(),
        (f"{kind} {code}" for kind, code in EXIT_CODES.items()),
        setting_names(),
        command_names(get_command(build()), "skills-runtime"),
        http_names(json.loads(openapi_text())),
        tool_names(),
    )
    return {section: sorted(set(listed_names)) for section, listed_names in zip(SECTIONS, names, strict=True)}


@pytest.fixture(scope="module")
def current() -> dict[str, list[str]]:
    return current_names()


@pytest.mark.parametrize("section", SECTIONS)
def test_every_recorded_name_still_exists(section: str, current: dict[str, list[str]]) -> None:
    recorded: dict[str, list[str]] = json.loads(RECORD.read_text())
    assert len(recorded[section]) > 10
    assert sorted(set(recorded[section]) - set(current[section])) == []


if __name__ == "__main__":
    RECORD.write_text(json.dumps(current_names(), indent=1) + "\n")
