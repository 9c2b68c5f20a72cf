"""The beginning of every request: profiles, texts, injected skills, offered tools."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.config.models import PromptSettings
from skills_runtime.errors import ConfigError
from skills_runtime.events.payloads import SkillInjected, SkillInjectionSkipped
from skills_runtime.skills import HistoryRule, Library, MissingVariable, PromptParts, Rules, SkillError, build_prompt
from tests.unit.skills.samples import library_at, library_of, make_skill, row

TOOLS = ("file_read", "wait", "shell_exec")
TASK = "use $[web:mvp].writer"
WORKSPACE = Path("/workspace")


def build_parts(
    task: str = TASK, library: Library | None = None, *, cwd: Path = WORKSPACE, constraints: str = "", **settings: Any
) -> PromptParts:
    return build_prompt(
        PromptSettings.model_validate(settings),
        task=task,
        cwd=cwd,
        library=library if library is not None else library_of(row()),
        tool_names=TOOLS,
        constraints=constraints,
    )


def test_the_default_agent_lists_skills_injects_bodies_and_offers_every_tool() -> None:
    parts = build_parts()
    assert "deliverables/" in parts.system
    assert "- $[web:mvp].writer: Is writer." in parts.system
    assert [injection.event.skill_name for injection in parts.injected] == ["writer"]
    assert "\nDo it.\n" in parts.injected[0].text
    assert parts.tools is None
    assert parts.history == HistoryRule("full", 40, 120_000)
    assert (parts.skipped, parts.missing_env) == ((), ())


def test_direct_generation_offers_no_tools_no_list_and_no_history() -> None:
    parts = build_parts(profile="generation_direct")
    assert "Available skills" not in parts.system
    assert "\nDo it.\n" in parts.injected[0].text
    assert parts.tools == frozenset()
    assert parts.history.mode == "none"


def test_a_structured_transform_shows_summaries() -> None:
    parts = build_parts(profile="structured_transform")
    assert "Is writer." in parts.injected[0].text
    assert "Do it." not in parts.injected[0].text
    assert parts.injected[0].event.render == "summary"


def test_settings_beat_the_profile() -> None:
    parts = build_parts(
        profile="generation_direct",
        include_skills_list=True,
        skill_injection={"mode": "all", "render": "summary"},
        history={"mode": "compacted", "max_messages": 3, "max_chars": 9},
        tools={"exposure": "all"},
    )
    assert "Available skills" in parts.system
    assert parts.injected[0].event.render == "summary"
    assert parts.history == HistoryRule("compacted", 3, 9)
    assert parts.tools is None
    assert "Available skills" not in build_parts(include_skills_list=False).system


def test_an_injected_skill_comes_with_the_fields_of_its_event(tmp_path: Path) -> None:
    directory = make_skill(tmp_path, "writer").resolve()
    (injection,) = build_parts(library=library_at(tmp_path)).injected
    assert injection.event == SkillInjected(
        skill_name="writer",
        skill_path=str(directory / "SKILL.md"),
        namespace="web:mvp",
        skill_locator=str(directory / "SKILL.md"),
        source="mention",
        mention_text="$[web:mvp].writer",
        space_id="space",
        source_id="files",
        render="body",
        size=len(injection.text),
        digest=injection.event.digest,
    )
    assert len(injection.event.digest) == 64


def test_a_mention_that_names_nothing_is_an_error_and_never_silent() -> None:
    with pytest.raises(SkillError) as caught:
        build_parts("use $[web:mvp].wrter")
    assert caught.value.code == "SKILL_UNKNOWN"


def test_where_mentions_are_looked_for_depends_on_the_mode() -> None:
    library = library_of(row("writer"), row("editor"))
    policy = "always follow $[web:mvp].editor"
    everywhere = build_parts(TASK, library, developer_text=policy)
    assert [injection.event.skill_name for injection in everywhere.injected] == ["editor", "writer"]
    explicit = build_parts(TASK, library, developer_text=policy, skill_injection={"mode": "explicit_only"})
    assert [injection.event.skill_name for injection in explicit.injected] == ["writer"]
    assert build_parts("$[web:mvp].nobody", library, skill_injection={"mode": "none"}).injected == ()


def test_a_skill_rendered_as_nothing_is_reported_as_skipped() -> None:
    parts = build_parts(skill_injection={"render": "none"})
    assert parts.injected == ()
    assert parts.skipped == (SkillInjectionSkipped(skill_name="writer", reason="render_none"),)


def test_a_body_that_is_too_long_is_an_error() -> None:
    library = library_of(row(body="x" * 11), rules=Rules(max_body_bytes=10))
    with pytest.raises(SkillError) as caught:
        build_parts(library=library)
    assert caught.value.code == "SKILL_BODY_TOO_LARGE"


def test_a_summary_needs_no_body() -> None:
    def unread() -> str:
        raise OSError("must not be called")

    library = library_of(row(body=unread))  # pyright: ignore[reportArgumentType]
    assert build_parts(library=library, skill_injection={"render": "summary"}).injected


def needing(policy: Any, **environment: str) -> Library:
    rules = Rules(env_var_missing_policy=policy)
    return library_of(row(required_env_vars=("KEY", "TOKEN")), row("editor"), rules=rules, **environment)


@pytest.mark.parametrize("policy", ["fail_fast", "skip_skill", "ask_human"])
def test_a_skill_whose_variables_are_set_is_injected(policy: str) -> None:
    assert len(build_parts(library=needing(policy, KEY="k", TOKEN="t")).injected) == 1


def test_a_missing_variable_fails_the_run_at_once_if_that_is_the_policy() -> None:
    with pytest.raises(SkillError) as caught:
        build_parts(library=needing("fail_fast", KEY="k"))
    assert (caught.value.code, caught.value.kind, caught.value.exit_code) == (
        "SKILL_ENV_VAR_MISSING",
        "missing_env_var",
        20,
    )
    assert caught.value.details["missing_env_vars"] == ["TOKEN"]


def test_a_skill_with_a_missing_variable_is_skipped_if_that_is_the_policy() -> None:
    parts = build_parts("$[web:mvp].writer $[web:mvp].editor", needing("skip_skill"))
    assert [injection.event.skill_name for injection in parts.injected] == ["editor"]
    assert parts.skipped == (
        SkillInjectionSkipped(
            skill_name="writer", reason="missing_env_var", missing_env_vars=["KEY", "TOKEN"], policy="skip_skill"
        ),
    )


def test_missing_variables_are_named_and_the_answer_completes_the_prompt() -> None:
    library = needing("ask_human", TOKEN="t")
    parts = build_parts(library=library)
    assert parts.injected == ()
    assert parts.missing_env == (MissingVariable("KEY", "writer", ""),)
    library.set_variable("KEY", "k3y-value")
    again = build_parts(library=library)
    assert len(again.injected) == 1
    assert again.missing_env == ()
    assert "k3y-value" not in again.system + again.injected[0].text


def test_the_texts_of_the_user_take_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "system.md").write_text("from a file", encoding="utf-8-sig")
    parts = build_parts(system_path=str(tmp_path / "system.md"), include_skills_list=False)
    assert parts.system == "from a file"
    both = build_parts(system_path="/nowhere", system_text="given", include_skills_list=False)
    assert both.system == "given"
    assert build_parts(system_text="", include_skills_list=False).system == ""


def test_the_developer_text_has_its_own_section(tmp_path: Path) -> None:
    (tmp_path / "policy.md").write_text("never guess\n")
    parts = build_parts(system_text="S", developer_path=str(tmp_path / "policy.md"), include_skills_list=False)
    assert parts.system == "S\n\n[Developer Policy]\nnever guess\n"
    given_text = build_parts(developer_text="be kind", developer_path="/nowhere").system
    assert "[Developer Policy]\nbe kind\n" in given_text


@pytest.mark.parametrize("content", [None, b"\xff", b"x" * (1 << 20) + b"x", "directory", "pipe"])
def test_a_text_file_that_cannot_be_used_is_a_configuration_error(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "text"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "directory":
        path.mkdir()
    elif content == "pipe":
        os.mkfifo(path)
    for setting in ("system_path", "developer_path"):
        settings: dict[str, Any] = {setting: str(path)}
        with pytest.raises(ConfigError) as caught:
            build_parts(**settings)
        assert setting in caught.value.message


def test_an_unknown_template_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="fancy"):
        build_parts(template="fancy")


def test_variables_are_filled_once_and_only_in_the_users_texts() -> None:
    parts = build_parts(
        "do {{tools}} in {{cwd}}",
        system_text="T={{task}} D={{cwd}}",
        developer_text="with {{tools}}",
        include_skills_list=False,
    )
    assert parts.system == (
        "T=do {{tools}} in {{cwd}} D=/workspace\n\n[Developer Policy]\nwith - file_read\n- wait\n- shell_exec\n"
    )


@given(st.text(alphabet="{}taskuolsc$[]\n", max_size=40))
def test_a_task_is_filled_in_exactly_as_it_is(task: str) -> None:
    parts = build_parts(task, Library(), system_text="<{{task}}>", skill_injection={"mode": "none"})
    assert parts.system == f"<{task}>"


def test_the_list_and_the_constraints_stand_once_where_the_template_wants_them() -> None:
    parts = build_parts(system_text="A {{skills}} B {{constraints}} C", constraints="no network")
    assert parts.system.count("Available skills") == 1
    assert parts.system.index("Available skills") < parts.system.index(" B no network C")
    wanted = build_parts(system_text="A {{skills}}", include_skills_list=False)
    assert "Available skills" in wanted.system


def test_constraints_without_a_place_get_a_section() -> None:
    assert "\n\n[Constraints]\nno network\n" in build_parts(constraints="no network").system
    assert "[Constraints]" not in build_parts().system


def test_the_tree_of_the_working_directory_is_shown_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    assert "notes.md" not in build_parts(cwd=tmp_path).system
    shown = build_parts(cwd=tmp_path, include_cwd_tree=True).system
    assert shown.endswith(f"The working directory `{tmp_path}`, links marked with `@`:\n- notes.md\n")


@pytest.mark.parametrize(
    ("task", "tools"),
    [
        ("use file_read and shell_exec", {"file_read", "shell_exec"}),
        ("请用shell_exec执行", {"shell_exec"}),
        ("await the profile_reader, shell-exec, file_read2", set[str]()),
        ("`wait`.", {"wait"}),
        ("WAIT", set[str]()),
    ],
)
def test_tools_are_offered_when_the_task_names_them(task: str, tools: set[str]) -> None:
    parts = build_parts(task, tools={"exposure": "explicit_only"}, system_text="{{tools}}", include_skills_list=False)
    assert parts.tools == tools
    assert set(parts.system.replace("- ", "").split()) == tools


def test_the_same_input_always_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("beta", "alpha", "gamma"):
        make_skill(tmp_path, name)
    texts = {
        msgspec.json.encode(build_parts("$[web:mvp].beta $[web:mvp].alpha", library_at(tmp_path))) for _ in range(3)
    }
    assert len(texts) == 1


def test_a_library_without_skills_adds_nothing() -> None:
    parts = build_parts("a task", Library())
    assert "skills" not in parts.system.replace("the skills that the task mentions", "")
    assert parts.injected == ()
