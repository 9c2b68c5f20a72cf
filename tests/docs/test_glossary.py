"""The glossary has every noun of the interfaces, and Studio's Chinese uses the words of the glossary."""

import json
import re

import skills_runtime.events.payloads as payloads
from scripts.reference import PAGES
from tests.support import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
MESSAGES = ROOT / "src" / "skills_runtime" / "messages" / "zh"
TEXTS = ROOT / "studio" / "src" / "i18n"
TECHNICAL = {"api", "v1", "livez", "readyz", "health", "export.html", "config_version", "profile_id"}
"""Parts of paths and settings that are not concepts: prefixes, probes and versions."""
COMMANDS = {"serve", "ls", "completion"}
"""Commands that are no concepts: verbs, and help for the shell."""
REPLACED = {
    "子代理": "子智能体",
    "智能代理": "智能体",
    "令牌": "Token",
    "围栏": "沙箱",
    "审阅": "评审",
    "播放头": "回放",
    "沙箱体检": "沙箱诊断",
    "代理": "智能体",
    "缺口": "未覆盖项",
}


def rows() -> list[tuple[set[str], str]]:
    """Return the English words and the Chinese word of each row."""
    cells = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    return [({word.strip().lower() for word in english.split(",")}, chinese.strip()) for english, chinese in cells[1:]]


def missing(words: set[str]) -> list[str]:
    terms = {term for english, _ in rows() for term in english}
    return sorted(word for word in words if not {word, word.removesuffix("s"), word.removesuffix("es")} & terms)


def test_each_word_has_one_row() -> None:
    terms = [term for english, _ in rows() for term in english]
    assert len(terms) > 60
    assert sorted(term for term in set(terms) if terms.count(term) > 1) == []


def test_route_paths_use_words_of_the_glossary() -> None:
    paths: dict[str, object] = json.loads((ROOT / "studio/src/api/openapi.json").read_text(encoding="utf-8"))["paths"]
    assert missing({part for path in paths for part in path.split("/") if part and part[0] != "{"} - TECHNICAL) == []


def test_commands_use_words_of_the_glossary() -> None:
    groups = re.findall(r"^## skills-runtime (\w+)$", PAGES["cli.md"](), re.MULTILINE)
    assert missing(set(groups) - COMMANDS) == []


def test_event_types_begin_with_words_of_the_glossary() -> None:
    types = {getattr(value, "event_type", "") for value in vars(payloads).values()}
    assert missing({name.partition("_")[0] for name in types if isinstance(name, str) and name}) == []


def test_settings_begin_with_words_of_the_glossary() -> None:
    names = re.findall(r"^\| `(\w+)", PAGES["configuration.md"](), re.MULTILINE)
    assert missing(set(names) - TECHNICAL) == []


def test_navigation_uses_words_of_the_glossary() -> None:
    for name in ("runs", "approvals", "sessions", "skills", "operations"):
        labels = {
            language: re.search(rf'^  {name}: "([^"]+)"', (TEXTS / language / "shell.ts").read_text("utf-8"), re.M)
            for language in ("en", "zh")
        }
        assert labels["en"]
        assert labels["zh"]
        english = labels["en"][1].lower()
        chinese = {word for terms, word in rows() if {english, english.removesuffix("s")} & terms}
        assert chinese == {labels["zh"][1]}


def test_chinese_texts_use_the_words_of_the_glossary() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (TEXTS / "zh").iterdir()}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in MESSAGES.iterdir()}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("docs/**/*.zh-CN.md")}
    assert [(name, word) for name, text in texts.items() for word in REPLACED if word in text] == []
