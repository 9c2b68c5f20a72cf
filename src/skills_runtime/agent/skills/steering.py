"""Skills that somebody mentions to a run at work: they become part of the conversation as those of its task do.

A mention that leads nowhere, or a skill that cannot be had, is told and never ends the run.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.equipment import Equipment
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events import Payload
from skills_runtime.events.payloads import SkillInjectionSkipped
from skills_runtime.ports import InboxMessage
from skills_runtime.runs import Run

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.ports import Secrets
    from skills_runtime.skills import Library as Skills
    from skills_runtime.skills import Skill
    from skills_runtime.skills.prompt.injection import Injected, Outcome
    from skills_runtime.skills.prompt.profile import Choices

_SIGNS = ("$", "/")
"""Every form of a mention has one of these."""


class SteeredSkills:
    """Gives the events for the skills that messages mention."""

    def __init__(self, run: Run, resolved: "Resolved", equipment: Equipment, secrets: "Secrets") -> None:
        self._run = run
        self._resolved = resolved
        self._equipment = equipment
        self._secrets = secrets

    def __call__(self, message: InboxMessage) -> Iterable[Payload]:
        """What becomes of each skill of a message; most messages mention none, and cost nothing."""
        text = str(message.body.get("text", "")) if message.kind == "steer" else ""
        if not any(sign in text for sign in _SIGNS):
            return ()
        from skills_runtime.skills.prompt.profile import choices_of, with_template

        choices = choices_of(with_template(self._resolved.settings.prompt, self._equipment.templates))
        return self._events(text, choices) if choices.injection != "none" else ()

    def _events(self, text: str, choices: "Choices") -> list[Payload]:
        from skills_runtime.skills import Library
        from skills_runtime.skills.choosing import chosen_for

        library = self._equipment.library or Library()
        try:
            chosen = chosen_for(text, (text,), library, routes=False, lists=False)
        except SkillsRuntimeError as error:  # an exact mention of nothing, which at the beginning leaves no run behind
            return [_left_out(str(error.details.get("mention", "")), f"no skill was activated: {error.message}")]
        events: list[Payload] = list(chosen.unmet)
        for skill in chosen.skills:
            outcome = _outcome(skill, library, choices, chosen.arguments.get(skill.mention, ""))
            events += self._taught(outcome)
        return events

    def _taught(self, outcome: "Injected | SkillInjectionSkipped") -> list[Payload]:
        """The event of a skill whose text is kept; one that is active already, with the same arguments, is not told."""
        from skills_runtime.agent.skills.first import as_first, first_skills
        from skills_runtime.agent.skills.permits import SkillPermits
        from skills_runtime.skills.prompt.injection import Injected

        if not isinstance(outcome, Injected):
            return [outcome]
        event, active = outcome.event, self._run.view.conversation.skills.get(outcome.event.mention_text)
        if active is not None and (active.digest, active.arguments) == (event.digest, event.arguments):
            return []
        text = self._secrets.text(outcome.text)
        event = msgspec.structs.replace(event, text_blob=self._run.keep(text.encode()), size=len(text))
        event = SkillPermits(self._resolved)(outcome.skill, event)
        return [as_first(event, outcome.skill, self._equipment.first_skills, first_skills(self._run))]


def _outcome(
    skill: "Skill", library: "Skills", choices: "Choices", arguments: str
) -> "Injected | SkillInjectionSkipped":
    """What becomes of a skill: nobody is asked for its variables here, and a run of its own is begun by a tool."""
    from skills_runtime.skills.prompt.injection import injection

    name = skill.mention.text
    if skill.metadata.get("context") == "fork":
        return _left_out(skill.name, f"`{name}` is worked on by a run of its own: activate it with `activate_skill`")
    try:
        outcome: Outcome = injection(skill, library, choices.render, arguments)
    except SkillsRuntimeError as error:
        return _left_out(skill.name, f"`{name}` was left out: {error.message}")
    if isinstance(outcome, tuple):
        missing = ", ".join(f"`{one.name}`" for one in outcome)
        return _left_out(skill.name, f"`{name}` needs {missing}: activate it with `activate_skill`")
    return outcome


def _left_out(name: str, reason: str) -> SkillInjectionSkipped:
    return SkillInjectionSkipped(skill_name=name, reason=reason)
