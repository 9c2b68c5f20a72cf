"""What the tools for skills know of their run: what is active, what that permits, and whom to ask for variables."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.options import AgentOptions
from skills_runtime.agent.skills.permissions import SkillPermissions, as_first, first_skills
from skills_runtime.errors import ConfigError, SkillsRuntimeError
from skills_runtime.events import Payload
from skills_runtime.events.payloads import SkillInjected, SkillInjectionSkipped
from skills_runtime.ports import InboxMessage, Question
from skills_runtime.runs import Run
from skills_runtime.skills.library import Library
from skills_runtime.skills.skill import Skill

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.ports import Secrets
    from skills_runtime.skills import Library as Skills
    from skills_runtime.skills import Skill
    from skills_runtime.skills.prompt.injection import Injected, Outcome
    from skills_runtime.skills.prompt.profile import Choices


class SkillContext:
    """The skills of one run, as it goes on."""

    def __init__(self, run: Run, resolved: "Resolved", options: AgentOptions, library: Library) -> None:
        self._run = run
        self._options = options
        self._library = library
        self._permits = SkillPermissions(resolved)

    def active(self) -> Mapping[str, tuple[str, str]]:
        """The skills the model has, by mention: the digest of what each says, and its arguments."""
        skills = self._run.view.conversation.skills
        return {mention: (one.digest, one.arguments) for mention, one in skills.items()}

    def called(self, call_id: str) -> bool:
        """Whether somebody called the skill by name, and the run made the call for them."""
        return call_id in self._run.view.conversation.called

    def permitting(self, skill: Skill, event: SkillInjected) -> SkillInjected:
        """The event with what the skill permits."""
        permitted = self._permits(skill, event)
        if not permitted.preapproves:
            return permitted
        return as_first(permitted, skill, self._options.first_skills, first_skills(self._run))

    def confined(self) -> bool:
        """Whether an active skill confines the run to what it lists."""
        return bool(self._run.view.pending.approvals.confining)

    async def obtain(self, skill: Skill, variable: str) -> bool:
        """Ask somebody who is there for a variable; its value is kept in memory only, and hidden from then on."""
        human, secrets = self._options.human, self._options.secrets
        if human is None or secrets is None:
            return False
        question = Question(id=variable, question=f"The skill `{skill.name}` needs `{variable}`. What is it?")
        try:
            value = await human.ask(question, call_id=f"variable_{variable}")
        except ConfigError:  # nobody is at the terminal
            return False
        secrets.hide(value)
        self._library.give(variable, value)
        return bool(value)


_SIGNS = ("$", "/")
"""Every form of a mention has one of these."""


class InboxSkills:
    """Gives the events for the skills that messages mention."""

    def __init__(self, run: Run, resolved: "Resolved", options: AgentOptions, secrets: "Secrets") -> None:
        self._run = run
        self._resolved = resolved
        self._options = options
        self._secrets = secrets

    def __call__(self, message: InboxMessage) -> Iterable[Payload]:
        """What becomes of each skill of a message; most messages mention none, and cost nothing."""
        text = str(message.body.get("text", "")) if message.kind == "steer" else ""
        if not any(sign in text for sign in _SIGNS):
            return ()
        from skills_runtime.skills.prompt.profile import choices_of, with_template

        choices = choices_of(with_template(self._resolved.settings.prompt, self._options.templates))
        return self._events(text, choices) if choices.injection != "none" else ()

    def _events(self, text: str, choices: "Choices") -> list[Payload]:
        from skills_runtime.skills import Library
        from skills_runtime.skills.prompt.assemble import chosen_for

        library = self._options.library or Library()
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
        from skills_runtime.agent.skills.permissions import SkillPermissions, as_first, first_skills
        from skills_runtime.skills.prompt.injection import Injected

        if not isinstance(outcome, Injected):
            return [outcome]
        event, active = outcome.event, self._run.view.conversation.skills.get(outcome.event.mention_text)
        if active is not None and (active.digest, active.arguments) == (event.digest, event.arguments):
            return []
        text = self._secrets.text(outcome.text)
        event = msgspec.structs.replace(event, text_blob=self._run.keep(text.encode()), size=len(text))
        event = SkillPermissions(self._resolved)(outcome.skill, event)
        return [as_first(event, outcome.skill, self._options.first_skills, first_skills(self._run))]


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
