"""Which of the mentioned skills go into the prompt, and what keeps the others out."""

from collections.abc import Iterable

import msgspec

from skills_runtime.events.payloads import SkillInjected, SkillInjectionSkipped
from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.skills.render import Render, rendered
from skills_runtime.skills.skill import Skill


class Injected(msgspec.Struct, frozen=True):
    """The text of a skill for the conversation, and the event that tells of it; who keeps the text adds its blob."""

    text: str
    event: SkillInjected


class MissingVariable(msgspec.Struct, frozen=True):
    """An environment variable that a mentioned skill declares and nobody has set."""

    name: str
    skill_name: str
    skill_path: str


Outcome = Injected | SkillInjectionSkipped | tuple[MissingVariable, ...]


def injections(skills: Iterable[Skill], library: Library, render: Render) -> list[Outcome]:
    """What becomes of each skill, in the order they are mentioned in."""
    return [_injection(skill, library, render) for skill in skills]


def _injection(skill: Skill, library: Library, render: Render) -> Outcome:
    if render == "none":
        return SkillInjectionSkipped(skill_name=skill.name, skill_path=_path(skill), reason="render_none")
    missing = library.missing(skill)
    if missing:
        return _without(skill, missing, library)
    body = library.body(skill) if render != "summary" else ""
    text = rendered(skill, body, render, max_bytes=library.rules.max_body_bytes)
    return Injected(
        text,
        SkillInjected(
            skill_name=skill.name,
            skill_path=_path(skill),
            namespace=skill.namespace,
            skill_locator=skill.locator,
            mention_text=skill.mention.text,
            space_id=skill.space_id,
            source_id=skill.source_id,
            render=render,
        ),
    )


def _without(skill: Skill, missing: tuple[str, ...], library: Library) -> Outcome:
    policy = library.rules.env_var_missing_policy
    if policy == "fail_fast":
        raise missing_variables(skill, missing)
    if policy == "ask_human":
        return tuple(MissingVariable(name, skill.name, _path(skill)) for name in missing)
    return SkillInjectionSkipped(
        skill_name=skill.name,
        skill_path=_path(skill),
        reason="missing_env_var",
        missing_env_vars=list(missing),
        policy=policy,
    )


def missing_variables(skill: Skill, missing: tuple[str, ...]) -> SkillError:
    """The error for a skill that cannot work without variables nobody has set."""
    names = ", ".join(f"`{name}`" for name in missing)
    return failure(
        "SKILL_ENV_VAR_MISSING",
        f"`{skill.mention.text}` needs environment variables that are not set: {names}",
        hint="set them, or choose another `skills.env_var_missing_policy`",
        mention=skill.mention.text,
        missing_env_vars=list(missing),
    )


def _path(skill: Skill) -> str:
    return skill.locator if skill.path is not None else ""
