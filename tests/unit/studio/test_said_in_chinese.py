"""Whatever the service says to a person is known in Chinese too; what is new there must be translated here."""

import json
import re
from pathlib import Path

import pytest

from skills_runtime.errors import EXIT_CODES, MODEL_KINDS, TOOL_KINDS
from skills_runtime.sandbox.promises import PROMISES
from skills_runtime.service.problems import STATUSES
from skills_runtime.skills.security.codes import RULES as FINDINGS
from skills_runtime.skills.standard.findings import RULES as DIAGNOSTICS
from tests.support import ROOT
from tests.unit.studio.server_texts import SOURCES, sentences

PLACE = ROOT / "studio/src/i18n/said/zh"
RISK = re.compile(r'"(?:high|medium|low)", "([^"]{8,})"')
NO_RULE = re.compile(r'_no_rule\("([^"]+)"\)')
HOLES = re.compile(r"\{\d*\}")
ALONE = {"it is of high risk"}
"""The end of a sentence that Studio shows without its beginning."""
ADD = "add them to a file in studio/src/i18n/said/zh"


def _known() -> dict[str, str]:
    files = [json.loads(path.read_text()) for path in sorted(PLACE.glob("*.json"))]
    known = {english: chinese for one in files for english, chinese in one.items()}
    assert len(known) == sum(len(one) for one in files), "a sentence stands in two files"
    return known


KNOWN = _known()


def _of_the_gate() -> set[str]:
    said = "\n".join(path.read_text() for path in (SOURCES / "safety").rglob("*.py"))
    return {*RISK.findall(said), *NO_RULE.findall(said)}


def _of_tables() -> set[str]:
    findings = {text for rule in FINDINGS.values() for text in (rule.title, rule.why, rule.remedy)}
    hints = {rule.hint for rule in DIAGNOSTICS.values() if rule.hint}
    return {*findings, *hints, *PROMISES.values()}


def test_every_sentence_of_the_service_is_translated() -> None:
    found = sentences()
    assert len(found) > 1500
    left = {text: place for text, place in found.items() if text not in KNOWN}
    assert not left, f"{ADD}: {left}"


def test_every_reason_of_the_gate_is_translated() -> None:
    assert len(_of_the_gate()) > 70
    assert sorted(_of_the_gate() - KNOWN.keys()) == []


def test_every_kind_of_error_has_a_name() -> None:
    kinds = {*EXIT_CODES, *STATUSES, *MODEL_KINDS, *TOOL_KINDS}
    assert sorted(kind for kind in kinds if f"kind/{kind}" not in KNOWN) == []


def test_every_finding_diagnostic_and_promise_is_translated() -> None:
    assert sorted(_of_tables() - KNOWN.keys()) == []


def test_nothing_is_translated_that_nobody_says() -> None:
    said = {*sentences(), *_of_the_gate(), *_of_tables(), *ALONE}
    assert [text for text in KNOWN if not text.startswith("kind/") and text not in said] == []


@pytest.mark.parametrize("path", sorted(PLACE.glob("*.json")), ids=lambda path: path.stem)
def test_a_translation_is_chinese_and_keeps_what_is_not_prose(path: Path) -> None:
    for english, chinese in json.loads(path.read_text()).items():
        assert re.search(r"[\u4e00-\u9fff]", chinese) or english.startswith("`"), english
        assert english.count("{}") == len(HOLES.findall(chinese)), english
        codes = [code for code in re.findall(r"`([^`]+)`", english) if "{}" not in code and code not in chinese]
        assert not codes, f"{english}: {codes}"
