"""The catalog has every text of the command line in every language, with the same parameters."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_runtime.cli.language import LABELS, translate_label, translate_phrase, use_language
from skills_runtime.cli.output import STATUS_STYLES, WAITING_STYLES
from skills_runtime.cli.run_text import DECISIONS
from skills_runtime.errors import KINDS
from skills_runtime.messages import CHINESE, ENGLISH, Catalog, format_message, parse_language, phrase
from tests.support import ROOT, SOURCES
from tests.support.checkouts import modules
from tests.unit.studio.test_messages import parameters_of

TEXTS: dict[str, str] = json.loads((ROOT / "src/skills_runtime/messages/zh/cli.json").read_text(encoding="utf-8"))
COMPUTED = {
    **{f"waiting.{kind}": style.text for kind, style in WAITING_STYLES.items()},
    **{f"decision.{decision}": text for decision, text in DECISIONS.items()},
    **{f"label.{label.replace(' ', '_')}": label for label in LABELS},
}
"""Texts whose keys are computed."""
CALLS = ("translate", "phrase")
FILES = (
    "skills_runtime/agent/run_defaults.py",
    "skills_runtime/cli",
    "skills_runtime/config/resolution.py",
    "skills_runtime/engine/doctor.py",
    "skills_runtime/llm/openai.py",
    "skills_runtime/render/skill_notes.py",
)
"""Where texts of the command line are."""


def calls() -> Iterator[tuple[ast.Call, str]]:
    """Yield each call that names a text, and its location."""
    for module in modules():
        if _has_texts(module.path):
            for node in module.walk():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
                    yield node, module.location(node)


def _has_texts(path: Path) -> bool:
    return any(path.is_relative_to(SOURCES / file) for file in FILES)


def english_texts() -> dict[str, str]:
    """Return the English text of each key; a text may be a local constant above the call."""
    texts = dict(COMPUTED)
    for module in modules():
        if not _has_texts(module.path):
            continue
        for node in module.walk():
            texts |= _text_of_call(node)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                texts |= _texts_of_constants(node)
    return texts


def _text_of_call(node: ast.AST) -> dict[str, str]:
    match node:
        case ast.Call(
            func=ast.Name(id="translate" | "phrase"), args=[ast.Constant(value=str(key)), ast.Constant(value=str(text))]
        ):
            return {key: text}
        case ast.Call(func=ast.Name(id="counted"), args=[_, ast.Constant(value=str(noun))]):
            return {f"count.{noun.replace(' ', '_')}": f"{{number}} {noun}"}
        case _:
            return {}


def _texts_of_constants(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    constants: list[tuple[int, str, str]] = []
    texts: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                constants.append((node.lineno, name, text))
            case _:
                pass
    for node in ast.walk(function):
        match node:
            case ast.Call(
                func=ast.Name(id="translate" | "phrase"), args=[ast.Constant(value=str(key)), ast.Name(id=name)]
            ):
                texts[key] = max(
                    (line, text) for line, other, text in constants if other == name and line <= node.lineno
                )[1]
            case _:
                pass
    return texts


def test_every_text_has_a_translation_with_its_parameters() -> None:
    english = english_texts()
    assert {key: parameters_of(text) for key, text in TEXTS.items()} == {
        key: parameters_of(text) for key, text in english.items()
    }


def test_values_of_every_call_are_the_parameters_of_its_text() -> None:
    wrong = [
        location
        for call, location in calls()
        if isinstance(call.args[0], ast.Constant)
        and {keyword.arg for keyword in call.keywords} != parameters_of(TEXTS[str(call.args[0].value)])
    ]
    assert wrong == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_text_is_well_formed(language: str) -> None:
    texts = TEXTS if language == "zh" else english_texts()
    for text in texts.values():
        format_message(text, {}, "zh" if language == "zh" else "en")


def test_no_english_text_has_more_than_marks_beyond_ascii() -> None:
    assert {character for text in english_texts().values() for character in text if not character.isascii()} <= set(
        "✓✗·…"
    )


@pytest.mark.parametrize("catalog", [ENGLISH, CHINESE])
def test_every_error_kind_and_run_status_has_a_message(catalog: Catalog) -> None:
    assert all(catalog.error(kind, {}) for kind in KINDS)
    assert all(catalog.run_status(status) for status in STATUS_STYLES)
    assert (catalog.error("nonsense", {}), catalog.run_status("nonsense"), catalog.notice("x", {})) == ("", "", "")


def test_a_message_is_filled_with_details_of_any_type() -> None:
    details = {"resource": "run", "name": "demo-9", "path": ["not used"]}
    assert CHINESE.error("not_found", details) == "没有运行 demo-9"
    assert ENGLISH.notice("run_state_changed", {"from": "running", "to": "failed"}) == "State: running → failed"


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("zh_CN.UTF-8", "zh"), ("zh", "zh"), ("zh-Hans-CN", "zh"), ("ZH_tw", "zh"), ("zh.UTF-8", "zh"),
        ("zha_CN", "en"), ("C", "en"), ("POSIX", "en"), ("en_US.UTF-8", "en"), ("de", "en"), ("", "en"),
    ],
)  # fmt: skip
def test_a_language_is_read_from_a_locale(locale: str, language: str) -> None:
    assert parse_language(locale) == language


def test_a_phrase_is_its_english_text_and_can_be_said_in_another_language(monkeypatch: pytest.MonkeyPatch) -> None:
    origin = phrase("origin.variable", "the variable {name}", name="X")
    text = phrase("doctor.address", "{url} (llm.base_url from {origin}) answers", url="http://a/v1", origin=origin)
    assert text == "http://a/v1 (llm.base_url from the variable X) answers"
    monkeypatch.setenv("SKILLS_RUNTIME_SDK_LANGUAGE", "en")
    use_language(None)
    assert [translate_phrase(text), translate_phrase("plain {text}")] == [text, "plain {text}"]
    use_language("zh")
    try:
        assert translate_phrase(text) == "http://a/v1（llm.base_url 来自 变量 X）有响应"
        assert translate_phrase("plain {text}") == "plain {text}"
    finally:
        use_language(None)


def test_labels_of_others_are_never_looked_up() -> None:
    use_language("zh")
    try:
        assert [translate_label(label) for label in ("hint", "{hostile", "path =")] == ["提示", "{hostile", "path ="]
    finally:
        use_language(None)
