"""Which of the mentioned skills go into the prompt, and what keeps the others out."""

from collections.abc import Iterable, Mapping

import msgspec

from skills_runtime.events.payloads import SkillInjected, SkillInjectionSkipped
from skills_runtime.skills.activation.arguments import argument_names, filled
from skills_runtime.skills.activation.files import files_of
from skills_runtime.skills.activation.identity import identity_of
from skills_runtime.skills.library import Library
from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.skills.render import Render, rendered
from skills_runtime.skills.skill import Mention, Skill


class Injected(msgspec.Struct, frozen=True):
    """The text of a skill for the conversation, and the event that tells of it; who keeps the text adds its blob."""

    text: str
    event: SkillInjected
    skill: Skill


class MissingVariable(msgspec.Struct, frozen=True):
    """An environment variable that a mentioned skill declares and nobody has set."""

    name: str
    skill_name: str
    skill_path: str


Outcome = Injected | SkillInjectionSkipped | tuple[MissingVariable, ...]


def injections(
    skills: Iterable[Skill], library: Library, render: Render, arguments: Mapping[Mention, str] | None = None
) -> list[Outcome]:
    """What becomes of each skill, in the order they are mentioned in, with what was written behind its name."""
    given = arguments or {}
    return [injection(skill, library, render, given.get(skill.mention, "")) for skill in skills]


def injection(
    skill: Skill, library: Library, render: Render, arguments: str = "", *, source: str = "mention"
) -> Outcome:
    """What becomes of a skill that is called for."""
    if render == "none":
        return SkillInjectionSkipped(skill_name=skill.name, skill_path=_path(skill), reason="render_none")
    missing = library.missing(skill)
    if missing:
        return _without(skill, missing, library)
    body = library.body(skill) if render != "summary" else ""
    content = filled(body, arguments, argument_names(skill.metadata))
    text = rendered(skill, content, render, max_bytes=library.rules.max_body_bytes, files=files_of(skill))
    return Injected(
        text,
        SkillInjected(
            skill_name=skill.name,
            skill_path=_path(skill),
            namespace=skill.namespace,
            skill_locator=skill.locator,
            source=source,
            mention_text=skill.mention.text,
            space_id=skill.space_id,
            source_id=skill.source_id,
            render=render,
            size=len(text),
            digest=identity_of(skill, body),
            arguments=arguments,
        ),
        skill,
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
