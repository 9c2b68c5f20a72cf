"""What a reader is told of skills: in the transcript, always in the same bytes."""

import pytest

from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    LlmUsage,
    RoutedSkill,
    SkillCatalogOffered,
    SkillInjected,
    SkillInjectionSkipped,
    SkillRouted,
    SkillUnloaded,
)
from skills_runtime.render import is_skill_notice, render_transcript, skill_note
from tests.support.events import numbered

NOWHERE = SkillInjectionSkipped(skill_name="writre", reason="`$writre` was left as it is: there is no such skill")
TIDES = RoutedSkill(mention="$[user].tides", rule="trigger", reason="the task says `spring tide`")
BY_FILE = RoutedSkill(mention="$[user].charts", rule="path")
BY_WORDS = RoutedSkill(mention="$[user].boats", rule="words")

NOTES: list[tuple[Payload, str]] = [
    (NOWHERE, "`$writre` was left as it is: there is no such skill"),
    (
        SkillInjectionSkipped(skill_name="w", reason="missing_env_var", missing_env_vars=["A", "B"]),
        "the skill `w` was left out: missing variables: `A`, `B`",
    ),
    (
        SkillInjectionSkipped(skill_name="w", reason="render_none"),
        "the skill `w` was left out: `prompt.skill_injection.render` is `none`",
    ),
    (SkillInjectionSkipped(skill_name="w"), "the skill `w` was left out"),
    (SkillInjected(skill_name="w", mention_text="$[user].w"), "`$[user].w` is active"),
    (SkillInjected(skill_name="w"), "`w` is active"),
    (
        SkillInjected(skill_name="w", mention_text="$[user].w", render="fork", source="tool"),
        "a run of its own works on `$[user].w`",
    ),
    (SkillInjected(skill_name="w", mention_text="$[user].w", render="fork"), ""),
    (SkillUnloaded(mention_text="$[user].w", reason="done"), "`$[user].w` is no longer active: done"),
    (
        SkillCatalogOffered(level="names", offered=3, reason="descriptions were left out"),
        "the model does not get all of its skills: descriptions were left out",
    ),
    (SkillCatalogOffered(level="full", offered=3), ""),
    (
        SkillCatalogOffered(level="full", offered=3, text="x", added=["$[user].a"], removed=list("bcdefg")),
        "skills have changed: new: `$[user].a`; gone: `b`, `c`, `d`, `e`, `f` and 1 more",
    ),
    (
        SkillRouted(query="a", decided_by="mention", choices=[TIDES, BY_FILE, BY_WORDS]),
        "`$[user].tides` is called for by a trigger: the task says `spring tide`;"
        " `$[user].charts` is called for by a path",
    ),
    (SkillRouted(query="a", choices=[BY_WORDS]), ""),
    (LlmUsage(model="m"), ""),
]


@pytest.mark.parametrize(("payload", "note"), NOTES, ids=[f"{one.event_type}-{note[:30]}" for one, note in NOTES])
def test_an_event_about_skills_is_reported_in_a_sentence_or_not_at_all(payload: Payload, note: str) -> None:
    assert skill_note(payload) == note


def test_only_what_was_asked_for_and_is_not_there_is_a_notice() -> None:
    assert [one for one, _ in NOTES if is_skill_notice(one)] == [one for one, _ in NOTES[:4]]


@pytest.mark.parametrize(("payload", "note"), NOTES, ids=[f"{one.event_type}-{note[:30]}" for one, note in NOTES])
def test_the_transcript_has_each_of_them_once(payload: Payload, note: str) -> None:
    told = f"{note}\n\n{payload.text}" if isinstance(payload, SkillCatalogOffered) and payload.text else note
    text = "".join(render_transcript(numbered([payload])))
    assert text == (f"\n<!-- event:0 -->\n## system\n\n```text\n{told}\n```\n" if note else "")
