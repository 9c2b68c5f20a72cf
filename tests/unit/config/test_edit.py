"""Edit one value of a YAML text: everything else stays, and what cannot be edited is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.config import deep_merge, nest_value, parse_mapping
from skills_runtime.config.edit import has_value, set_value, unset_value
from skills_runtime.errors import ConfigError

FILE = Path("/home/me/config.yaml")
TEXT = """\
# mine
llm:
  base_url: http://a/v1   # at home
  # the key
  api_key_env: A
  retry: {max_retries: 2, jitter_ratio: 0.1}

# which
models:
  planner: "x"
safety:
  denylist:
    - rm
    - dd  # dangerous
  mode: ask
"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("llm.base_url", "http://b/v1", "base_url: http://a/v1   #", "base_url: http://b/v1   #"),
        ("llm.api_key_env", "B", "api_key_env: A", "api_key_env: B"),
        ("llm.retry.max_retries", 5, "max_retries: 2,", "max_retries: 5,"),
        ("llm.retry.cap_delay_sec", 1.5, "0.1}", "0.1, cap_delay_sec: 1.5}"),
        ("models.executor", "p:m, n", 'planner: "x"\n', 'planner: "x"\n  executor: p:m, n\n'),
        ("models.planner", "a: b", '"x"', "'a: b'"),
        ("models.planner", "a\nb", '"x"', '"a\\nb"'),
        ("safety.denylist", ["a, b", "c"], "\n    - rm\n    - dd", " ['a, b', c]"),
        ("safety.mode", "deny", "mode: ask", "mode: deny"),
        ("run.retry.x", 1, "mode: ask\n", "mode: ask\nrun:\n  retry:\n    x: 1\n"),
    ],
)
def test_only_the_value_changes(key: str, value: Any, old: str, new: str) -> None:
    assert set_value(TEXT, key, value, FILE) == TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("key", "gone"),
    [
        ("llm.base_url", "  base_url: http://a/v1   # at home\n"),
        ("llm.retry.max_retries", "max_retries: 2, "),
        ("llm.retry.jitter_ratio", ", jitter_ratio: 0.1"),
        ("models.planner", 'models:\n  planner: "x"\n'),
        ("safety.denylist", "  denylist:\n    - rm\n    - dd  # dangerous\n"),
        ("safety.mode", "  mode: ask\n"),
        ("llm.none", ""),
    ],
)
def test_removing_a_value_removes_its_lines_and_empty_sections(key: str, gone: str) -> None:
    assert unset_value(TEXT, key, FILE) == TEXT.replace(gone, "", 1)


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", "llm:\n  x: 1\n"),
        ("# only a comment", "# only a comment\nllm:\n  x: 1\n"),
        ("{}\n", "llm:\n  x: 1\n"),
        ("llm:\nrun: {}\n", "llm:\n  x: 1\nrun: {}\n"),
        ("llm: {}\n", "llm:\n  x: 1\n"),
        ("{llm: {}}", "{llm: {x: 1}}"),
        ("{llm: {y: 2}}", "{llm: {y: 2, x: 1}}"),
        ("llm:\n    y: |\n      text\n    # end\n", "llm:\n    y: |\n      text\n    x: 1\n    # end\n"),
        ("llm:\n  x: >\n    folded\n", "llm:\n  x: 1\n"),
        ("llm:\r\n  x: 3\r\n", "llm:\r\n  x: 1\r\n"),
        ("# ü\nllm: {x: 3}  # ö", "# ü\nllm: {x: 1}  # ö"),
    ],
)
def test_a_value_can_be_set_in_every_layout(text: str, edited: str) -> None:
    assert set_value(text, "llm.x", 1, FILE) == edited


def test_a_layout_that_would_be_damaged_is_refused() -> None:
    text = "a: &a {x: 1}\nllm: *a\n"
    with pytest.raises(ConfigError) as caught:
        set_value(text, "llm.x", 9, FILE)
    assert str(FILE) in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_no_yaml_is_refused_with_the_line() -> None:
    with pytest.raises(ConfigError, match=r"is not usable YAML \(line 2"):
        set_value("llm: [\n", "llm.x", 1, FILE)


names = st.sampled_from(["a", "b", "c"])
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.lists(st.text(max_size=4)))
trees = st.dictionaries(names, st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=3)))


@given(
    data=trees,
    key=st.lists(names, min_size=1, max_size=3).map(".".join),
    value=leaves,
    flow=st.sampled_from([None, True, False]),
)
def test_an_edit_means_what_it_says_or_is_refused(
    data: dict[str, Any], key: str, value: Any, flow: bool | None
) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)
    try:
        edited = set_value(text, key, value, FILE)
    except ConfigError:
        return
    data = parse_mapping(text, FILE)
    loaded = parse_mapping(edited, FILE)
    assert loaded == deep_merge({**data, **({} if "." in key else {key: None})}, nest_value(key, value))
    assert has_value(loaded, key)
    removed = parse_mapping(unset_value(edited, key, FILE), FILE)
    assert not has_value(removed, key)
