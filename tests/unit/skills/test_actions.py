"""Actions: how they are defined, and that their files are the skill's own."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.skills import Skill, SkillError
from skills_runtime.skills.actions import Action, find_action, resolve_command
from tests.unit.skills.samples import a_skill, make_skill, skill_text, source_at

DEFINED = """\
actions:
  build:
    kind: shell
    argv: [python3, actions/build.py, --fast]
    timeout_ms: 5000
    env: {MODE: "1"}
  bare: {kind: shell, argv: ["true"], timeout_ms: null, env: ~}
"""


def skill_with(actions: Any, **metadata: Any) -> Skill:
    return msgspec.structs.replace(a_skill(), metadata={"actions": actions, **metadata})


def in_files(root: Path, *argv: str) -> tuple[str, ...]:
    """The command of an action with these words, for a skill with a script, a directory and some traps."""
    directory = make_skill(root / "skills", "writer", files={"actions/run.sh": "", "actions/data/x": "", "other": ""})
    (root / "outside").write_text("")
    (directory / "actions" / "link").symlink_to(root / "outside")
    (directory / "actions" / "inner").symlink_to("run.sh")
    (directory / "actions" / "up").symlink_to("..")
    (skill,) = source_at(root / "skills").skills().skills
    return resolve_command(skill, Action(id="x", argv=argv))


def test_an_action_is_read_from_the_front_matter(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer", text=skill_text(extra=DEFINED))
    (skill,) = source_at(tmp_path).skills().skills
    assert find_action(skill, "build") == Action(
        id="build", argv=("python3", "actions/build.py", "--fast"), timeout_ms=5000, env={"MODE": "1"}
    )
    assert find_action(skill, "bare") == Action(id="bare", argv=("true",))


def test_actions_may_stand_under_metadata_as_the_standard_wants_it() -> None:
    skill = msgspec.structs.replace(
        a_skill(), metadata={"metadata": {"actions": {"go": {"kind": "shell", "argv": ["true"]}}}}
    )
    assert find_action(skill, "go").argv == ("true",)


@pytest.mark.parametrize("actions", [{}, [], "", {"other": {"kind": "shell", "argv": ["true"]}}])
def test_an_undefined_action_is_not_found(actions: Any) -> None:
    with pytest.raises(SkillError) as caught:
        find_action(skill_with(actions), "go")
    assert (caught.value.code, caught.value.kind) == ("SKILL_ACTION_NOT_FOUND", "not_found")
    assert ("`other`" in caught.value.hint) == bool(actions)


@pytest.mark.parametrize(
    "definition",
    [
        "true",
        [],
        {},
        {"kind": "shell"},
        {"kind": "python", "argv": ["true"]},
        {"argv": ["true"]},
        {"kind": "shell", "argv": []},
        {"kind": "shell", "argv": [""]},
        {"kind": "shell", "argv": "true"},
        {"kind": "shell", "argv": ["true", ["x"]]},
        {"kind": "shell", "argv": ["true", "a\0b"]},
        {"kind": "shell", "argv": ["x"] * 1001},
        {"kind": "shell", "argv": ["true"], "shell": "bash"},
        {"kind": "shell", "argv": ["true"], "timeout_ms": "0"},
        {"kind": "shell", "argv": ["true"], "timeout_ms": "-5"},
        {"kind": "shell", "argv": ["true"], "timeout_ms": "1e3"},
        {"kind": "shell", "argv": ["true"], "timeout_ms": "9" * 5000},
        {"kind": "shell", "argv": ["true"], "timeout_ms": "٣"},
        {"kind": "shell", "argv": ["true"], "timeout_ms": ["1"]},
        {"kind": "shell", "argv": ["true"], "env": "A=1"},
        {"kind": "shell", "argv": ["true"], "env": ["A"]},
        {"kind": "shell", "argv": ["true"], "env": {"A B": "1"}},
        {"kind": "shell", "argv": ["true"], "env": {"A": ["1"]}},
        {"kind": "shell", "argv": ["true"], "env": {"A": "1\0"}},
        {"kind": "shell", "argv": ["true"], "env": {"SKILLS_RUNTIME_SDK_SKILL_MENTION": "x"}},
    ],
)
def test_a_definition_that_is_not_whole_is_refused(definition: Any) -> None:
    with pytest.raises(SkillError) as caught:
        find_action(skill_with({"go": definition}), "go")
    assert caught.value.code == "SKILL_ACTION_DEFINITION_INVALID"
    assert caught.value.details["mention"] == "$[web:mvp].writer"


def test_a_number_of_milliseconds_may_be_a_number_where_no_yaml_was_read() -> None:
    skill = skill_with({"go": {"kind": "shell", "argv": ["true"], "timeout_ms": 70}})
    assert find_action(skill, "go").timeout_ms == 70


def test_files_of_the_skill_become_absolute_and_other_words_stay(tmp_path: Path) -> None:
    actions = tmp_path.resolve() / "skills" / "writer" / "actions"
    assert in_files(tmp_path, "sh", "actions/run.sh", "--flag", "./actions/data", "x.y") == (
        "sh",
        str(actions / "run.sh"),
        "--flag",
        str(actions / "data"),
        "x.y",
    )


@pytest.mark.parametrize(
    "word",
    [
        "/bin/sh",
        "/",
        "../outside",
        "actions/../other",
        "actions/../../../outside",
        "actions/./run.sh",
        "actions//run.sh",
        "actions/",
        "./actions",
        "references/x",
        "--out=actions/run.sh",
        "~/x",
        "https://example.com/x",
        "actions/link",
        "actions/inner",
        "actions/up/other",
        "actions/up/actions/run.sh",
    ],
)
def test_a_path_that_leaves_the_actions_is_refused(word: str, tmp_path: Path) -> None:
    for argv in ((word,), ("sh", word)):
        with pytest.raises(SkillError) as caught:
            in_files(tmp_path / str(len(argv)), *argv)
        assert (caught.value.code, caught.value.kind) == ("SKILL_ACTION_ARGV_PATH_ESCAPE", "permission")


@pytest.mark.parametrize("argv", [("actions/nothing.sh",), ("sh", "actions/nothing"), ("actions/data",)])
def test_a_path_to_nothing_usable_is_refused(argv: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(SkillError) as caught:
        in_files(tmp_path, *argv)
    assert caught.value.code == "SKILL_ACTION_ARGV_PATH_INVALID"


def test_a_skill_without_files_has_nothing_to_run() -> None:
    with pytest.raises(SkillError) as caught:
        resolve_command(a_skill(), Action(id="x", argv=("true",)))
    assert caught.value.code == "SKILL_ACTION_SOURCE_UNSUPPORTED"
