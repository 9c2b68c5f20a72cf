"""Files that are not what they should be: one sentence each, with the place, and never a traceback."""

import os
import re
from typing import TYPE_CHECKING

import pytest

from skills_runtime.config.files import MAX_DEPTH, MAX_FILE_BYTES
from skills_runtime.errors import ConfigError, ValidationFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import ConfigDirs


@pytest.mark.parametrize(
    ("text", "place_and_reason"),
    [
        ("run:\n  max_steps: [1\nsafety: 2", r"line 3, column 7\): did not find"),
        ("run: {max_steps: 1}: 2", r"line 1, column \d+\): "),
        ("run:\n\tmax_steps: 1", r"line 2, column 1\): found character that cannot start any token"),
        ("a: *nothing", r"line 1, column 4\): found undefined alias"),
        ("a: 1\n---\nb: 2", r"line 2, column 1\): but found another document"),
        ("a: !python/object:os.system x", r"line 1, column 4\): could not determine a constructor"),
        ("a: !!bool maybe", r"line 1, column 4\): a value does not fit its YAML type"),
        ("a: !!int ''", r"line 1, column 4\): a value does not fit its YAML type"),
        ("a: 2024-13-45", r"line 1, column 4\): a value does not fit its YAML type"),
        ("a: " + "9" * 5000, r"line 1, column 4\): a value does not fit its YAML type"),
        ("a: !!timestamp x", r"line 1, column 4\): a value does not fit its YAML type"),
        ("run: {}\nsafety: {}\nrun: {}", r"line 3, column 1\): the key `run` already stands on line 1"),
        ("run:\n  max_steps: 1\n  max_steps: 2", r"line 3, column 3\): the key `max_steps` already stands on line 2"),
        ("run: {}\non: 1", r"line 2, column 1\): a key is not text; put it in quotes"),
        ("? [a, b]\n: 1", r"line 1, column 3\): a key is not text; put it in quotes"),
        ("run: &a\n  b: *a", r"line 1, column 6\): an alias refers to what contains it"),
        ("a: \x01", r"YAML: control characters are not allowed"),
    ],
)
def test_broken_yaml_is_refused_with_its_place(config_dirs: "ConfigDirs", text: str, place_and_reason: str) -> None:
    path = config_dirs.write("kgent.yaml", text)
    [problem] = config_dirs.problems()
    assert problem.startswith(f"`{path}` is not usable YAML")
    assert re.search(place_and_reason, problem), problem
    assert "\n" not in problem


def test_broken_yaml_does_not_show_the_line_it_breaks_at(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "llm:\n  api_key: sk-abcdefghijklmnop1234: x\n")
    assert "abcdefghijklmnop" not in "".join(config_dirs.problems())


def test_a_duplicate_key_that_looks_like_a_secret_is_not_shown(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "sk-abcdefghijklmnop1234: 1\nsk-abcdefghijklmnop1234: 2\n")
    assert "the key `<hidden>` already stands on line 1" in config_dirs.problems()[0]


@pytest.mark.parametrize("text", ["- run\n- safety\n", "just text", "42"])
def test_a_file_whose_top_is_not_a_mapping_is_refused(config_dirs: "ConfigDirs", text: str) -> None:
    path = config_dirs.write("kgent.yaml", text)
    assert config_dirs.problems() == [f"`{path}` must hold a mapping at its top"]


def test_a_file_that_is_not_utf8_is_refused(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("kgent.yaml", b"run: \xff")
    assert config_dirs.problems() == [f"`{path}` is not UTF-8 text (byte 5)"]


def test_a_byte_order_mark_is_no_obstacle(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", b"\xef\xbb\xbfrun: {max_steps: 3}")
    assert config_dirs.resolve().settings.run.max_steps == 3


def test_a_directory_in_the_place_of_a_file_is_refused(config_dirs: "ConfigDirs") -> None:
    (config_dirs.root / "kgent.yaml").mkdir()
    assert config_dirs.problems() == [f"`{config_dirs.root}/kgent.yaml` is a directory, not a file"]


def test_a_named_pipe_in_the_place_of_a_file_is_refused_at_once(config_dirs: "ConfigDirs") -> None:
    os.mkfifo(config_dirs.root / "kgent.yaml")
    assert config_dirs.problems() == [f"`{config_dirs.root}/kgent.yaml` is not a regular file"]


def test_a_file_of_more_than_a_mebibyte_is_refused(config_dirs: "ConfigDirs") -> None:
    path = config_dirs.write("kgent.yaml", "#" * (MAX_FILE_BYTES + 1))
    assert config_dirs.problems() == [f"`{path}` is larger than 1048576 bytes"]


def test_a_file_of_exactly_a_mebibyte_is_read(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "#" * MAX_FILE_BYTES)
    assert config_dirs.resolve().settings.run.max_steps == 40


def test_a_file_the_user_may_not_read_is_refused(
    world_readable_dirs: "ConfigDirs", unprivileged: "Callable[[Callable[[], str]], str]"
) -> None:
    path = world_readable_dirs.write("kgent.yaml", "run: {max_steps: 3}")
    world_readable_dirs.resolve()
    path.chmod(0o000)

    def look() -> str:
        try:
            world_readable_dirs.resolve()
        except Exception as error:  # noqa: BLE001
            return f"{type(error).__name__}: {error}"
        return "resolved"

    assert unprivileged(look) == f"AccessRefused: `{path}` may not be read by this user"


def test_a_user_file_that_cannot_be_looked_up_is_a_refusal_not_an_absence(
    world_readable_dirs: "ConfigDirs", unprivileged: "Callable[[Callable[[], str]], str]"
) -> None:
    path = world_readable_dirs.write_user_file("safety: {mode: deny}")
    world_readable_dirs.resolve()
    path.parent.chmod(0o000)

    def look() -> str:
        try:
            world_readable_dirs.resolve()
        except Exception as error:  # noqa: BLE001
            return f"{type(error).__name__}: {error}"
        return "resolved"

    answer = unprivileged(look)
    path.parent.chmod(0o755)
    assert answer == f"AccessRefused: `{path}` may not be looked up by this user"


def test_a_bomb_of_aliases_is_refused_without_being_expanded(config_dirs: "ConfigDirs") -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 30)]
    config_dirs.write("kgent.yaml", "\n".join(lines))
    [problem] = config_dirs.problems()
    assert "it stands for more than 100000 values" in problem


def test_a_long_chain_of_aliases_is_refused(config_dirs: "ConfigDirs") -> None:
    lines = ["a0: &a0 [x]", *(f"a{level}: &a{level} [*a{level - 1}]" for level in range(1, 200))]
    config_dirs.write("kgent.yaml", "\n".join(lines))
    assert "it stands for more than 100000 values or 50 levels" in config_dirs.problems()[0]


def test_very_deep_nesting_is_refused(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "a: " + "[" * 400_000)
    assert f"more than {MAX_DEPTH} levels are nested" in config_dirs.problems()[0]


def test_anchors_and_merge_keys_work_as_yaml_says(config_dirs: "ConfigDirs") -> None:
    config_dirs.write("kgent.yaml", "llm: {retry: &r {max_retries: 1, jitter_ratio: 0.5}}\n")
    config_dirs.write("b.yaml", "skills:\n  sources:\n  - &s {id: a, type: redis}\n  - {<<: *s, id: b}\n")
    settings = config_dirs.resolve("b.yaml").settings
    assert [(each.id, each.type) for each in settings.skills.sources] == [("a", "redis"), ("b", "redis")]


@pytest.mark.parametrize("name", ["nul\0byte.yaml", "not-utf8-\udcff.yaml"])
def test_an_explicit_path_that_cannot_be_used_is_refused(config_dirs: "ConfigDirs", name: str) -> None:
    with pytest.raises(ValidationFailed, match="is not a usable path"):
        config_dirs.resolve(name)


def test_an_explicit_path_that_is_too_long_is_refused(config_dirs: "ConfigDirs") -> None:
    with pytest.raises(ConfigError, match="cannot be read: File name too long"):
        config_dirs.resolve("x" * 5000)
