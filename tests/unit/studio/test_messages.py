"""Studio has a message in every language for each kind of error and notice, with the parameters the server sends."""

import json
import re
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import KINDS, MODEL_KINDS, TOOL_KINDS, Parameters
from skills_runtime.events.payloads import (
    BudgetIncreased,
    ContextRecoveryDecided,
    EnvVarRequired,
    EnvVarSet,
    ImagesAttached,
    LogRepaired,
    RunAdopted,
    RunStateChanged,
    RunWaitingHuman,
)
from skills_runtime.service.problems import HTTP_ERRORS, HTTP_KINDS, STATUSES
from skills_runtime.skills.scan import SCAN_RULES as FINDINGS
from skills_runtime.skills.standard.diagnostics import RULES as DIAGNOSTICS
from tests.support import ROOT

TEXTS = ROOT / "src" / "skills_runtime" / "messages"
LANGUAGES = ("en", "zh")
NOTICES = (
    BudgetIncreased, ContextRecoveryDecided, EnvVarRequired, EnvVarSet, ImagesAttached, LogRepaired, RunAdopted,
    RunStateChanged, RunWaitingHuman,
)  # fmt: skip
"""The events that a transcript shows as a notice: `NOTICES` of studio/src/events/foldNotices.ts."""


def messages(language: str) -> dict[str, dict[str, str]]:
    return json.loads((TEXTS / language / "messages.json").read_text(encoding="utf-8"))


def parameters_of(message: str) -> set[str]:
    """The arguments of an ICU message, also those inside of its cases."""
    names: set[str] = set()
    inside = ["text"]
    for brace in re.finditer(r"[{}]", message):
        if brace[0] == "}":
            inside.pop()
        elif inside[-1] == "cases":
            inside.append("text")
        else:
            argument = re.compile(r"\s*(\w+)\s*([,}])").match(message, brace.end())
            assert argument, message
            names.add(argument[1])
            inside.append("cases" if argument[2] == "," else "name")
    assert inside == ["text"], message
    return names


def test_parameters_are_read_out_of_messages() -> None:
    message = "{a, select, none {Nothing} other {x {b} {n, plural, one {# y} other {{c} z}}}} {d}"
    assert parameters_of(message) == {"a", "b", "c", "d", "n"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_error_has_a_message_with_its_parameters(language: str) -> None:
    declared = {kind: set(about.parameters) for kind, about in KINDS.items()}
    declared |= {kind: set[str]() for kind in HTTP_KINDS}
    assert {kind: parameters_of(text) for kind, text in messages(language)["errors"].items()} == declared


def test_every_kind_in_use_is_declared_and_every_parameter_is_typed() -> None:
    assert {*STATUSES, *MODEL_KINDS, *TOOL_KINDS} <= KINDS.keys()
    service = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/skills_runtime/service").rglob("*.py"))
    refusals = {*re.findall(r'Problem\([^()]*kind="(\w+)"', service), *(kind for kind, _ in HTTP_ERRORS.values())}
    assert refusals - KINDS.keys() == HTTP_KINDS
    assert {name for about in KINDS.values() for name in about.parameters} == Parameters.__annotations__.keys()


def test_every_resource_that_may_be_missing_has_a_message() -> None:
    resources = Parameters.__annotations__["resource"].__args__
    for language in LANGUAGES:
        cases = set(re.findall(r"(\w+) \{[^{}]*\{name\}\}", messages(language)["errors"]["not_found"]))
        assert cases == set(resources)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_notice_has_a_message_with_fields_of_its_event(language: str) -> None:
    texts = messages(language)["notices"]
    assert texts.keys() == {event.event_type for event in NOTICES}
    for event in NOTICES:
        fields = {field.encode_name for field in msgspec.structs.fields(event)}
        assert parameters_of(texts[event.event_type]) <= fields, event


def test_notices_use_the_same_parameters_in_every_language() -> None:
    first, *others = [
        {name: parameters_of(text) for name, text in messages(language)["notices"].items()} for language in LANGUAGES
    ]
    assert all(other == first for other in others)


def test_codes_of_skill_checks_are_translated() -> None:
    codes: dict[str, Any] = json.loads((TEXTS / "zh" / "codes.json").read_text(encoding="utf-8"))
    assert codes["findings"].keys() == FINDINGS.keys()
    assert codes["diagnostics"].keys() == {code for code, rule in DIAGNOSTICS.items() if rule.hint}
