"""What the tools for skills know of their run: what is active, what that permits, and whom to ask for variables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from skills_runtime.agent.equipment import Equipment
from skills_runtime.agent.skills.first import as_first, first_skills
from skills_runtime.agent.skills.permits import SkillPermits
from skills_runtime.errors import ConfigError
from skills_runtime.events.payloads import SkillInjected
from skills_runtime.ports import Question
from skills_runtime.runs import Run
from skills_runtime.skills.library import Library
from skills_runtime.skills.skill import Skill

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


class SkillRoom:
    """The skills of one run, as it goes on."""

    def __init__(self, run: Run, resolved: "Resolved", equipment: Equipment, library: Library) -> None:
        self._run = run
        self._equipment = equipment
        self._library = library
        self._permits = SkillPermits(resolved)

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
        return as_first(permitted, skill, self._equipment.first_skills, first_skills(self._run))

    def confined(self) -> bool:
        """Whether an active skill confines the run to what it lists."""
        return bool(self._run.view.pending.approvals.confining)

    async def obtain(self, skill: Skill, variable: str) -> bool:
        """Ask somebody who is there for a variable; its value is kept in memory only, and hidden from then on."""
        human, secrets = self._equipment.human, self._equipment.secrets
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
