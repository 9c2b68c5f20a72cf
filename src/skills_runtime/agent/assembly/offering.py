"""The tools a model is told of: the agent's and those for skills, less what the prompt or a parent leaves out."""

from typing import TYPE_CHECKING

from skills_runtime.agent.equipment import Equipment
from skills_runtime.agent.skills.calls import ACTIVATE
from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.agent.skills.seen import names_skills
from skills_runtime.ports import Tool
from skills_runtime.runs import Run
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library
    from skills_runtime.skills.own_runs import OwnRuns


SEARCHED = 30
"""With more skills than this the list for the model may not have room for all, and it can search."""


def offered(run: Run, resolved: "Resolved", equipment: Equipment) -> Registry:
    """The tools of a run; one of the agent's own wins over one for skills of the same name."""
    from skills_runtime.skills import exposed
    from skills_runtime.skills.prompt.profile import with_template

    tools, library = equipment.tools, equipment.library
    if library is not None:
        own = skill_tools(run, resolved, equipment, library)
        tools = Registry(*tools, *(tool for tool in own if tools.find(tool.spec.name) is None))
    settings, task = with_template(resolved.settings.prompt, equipment.templates), run.text("prompt.md")
    names = exposed(settings, task, [tool.spec.name for tool in tools])
    for wanted in (names, equipment.only):
        tools = tools if wanted is None else Registry(*(tool for tool in tools if tool.spec.name in wanted))
    return tools


def own_runs(resolved: "Resolved", equipment: Equipment, task: str) -> "OwnRuns":
    """Whether the skills a task names are worked on by runs of their own where they ask for it.

    Only in a run that somebody began: one that another run began is such a run itself, and works on what it was given.
    """
    from skills_runtime.skills import exposed
    from skills_runtime.skills.own_runs import OwnRuns
    from skills_runtime.skills.prompt.profile import with_template

    if equipment.depth or equipment.library is None:
        return OwnRuns()
    if equipment.children is not None:
        return OwnRuns(reason="the sub-agents of this agent are not its own")
    if equipment.profiles and "" not in equipment.profiles:
        return OwnRuns(reason="its sub-agents are of certain kinds, and none is for everything")
    names = exposed(with_template(resolved.settings.prompt, equipment.templates), task, [ACTIVATE])
    narrowed = [wanted for wanted in (names, equipment.only) if wanted is not None and ACTIVATE not in wanted]
    if narrowed or equipment.tools.find(ACTIVATE) is not None:
        return OwnRuns(reason=f"the tool `{ACTIVATE}` is not offered")
    return OwnRuns(possible=True)


def skill_tools(run: Run, resolved: "Resolved", equipment: Equipment, library: "Library") -> list[Tool]:
    """What a model does with skills; those that find and end them are there only where they are of use."""
    from skills_runtime.agent.skills.room import SkillRoom
    from skills_runtime.agent.skills.runs import RunExecutions
    from skills_runtime.skills.catalog import catalog_of
    from skills_runtime.tools.builtin.activate_skill import ActivateSkill
    from skills_runtime.tools.builtin.read_skill_file import ReadSkillFile
    from skills_runtime.tools.builtin.search_skills import SearchSkills
    from skills_runtime.tools.builtin.skill_exec import SkillExec
    from skills_runtime.tools.builtin.skill_ref_read import SkillRefRead
    from skills_runtime.tools.builtin.unload_skill import UnloadSkill

    settings, room = resolved.settings.skills, SkillRoom(run, resolved, equipment, library)
    references, skills = settings.references, library.list()
    tools: list[Tool] = []
    if settings.actions.enabled:
        tools.append(SkillExec(library, enabled=True, runner=RunExecutions(run.paths.root / "executions", library)))
    if references.enabled:
        tools.append(
            SkillRefRead(
                library,
                enabled=True,
                allow_assets=references.allow_assets,
                default_max_bytes=references.default_max_bytes,
            )
        )
    if not skills and not library.all():
        return tools
    tools += [ActivateSkill(library, room), UnloadSkill(active=room.active), ReadSkillFile(library, active=room.active)]
    budget = library.rules.catalog_tokens
    if len(skills) > SEARCHED or catalog_of(skills, budget_tokens=budget).report.level == "search":
        tools.append(SearchSkills(library))
    return tools


def previewable_tools(resolved: "Resolved") -> dict[str, Tool]:
    """Return the tools that can tell what a call would do without a run, by name."""
    from skills_runtime.tools.builtin.skill_exec import SkillExec
    from skills_runtime.tools.builtin.skill_ref_read import SkillRefRead

    tools: dict[str, Tool] = {tool.spec.name: tool for tool in builtin_tools()}
    if names_skills(resolved):
        library, skills = library_of(resolved), resolved.settings.skills
        tools["skill_exec"] = SkillExec(library, enabled=skills.actions.enabled)
        tools["skill_ref_read"] = SkillRefRead(
            library,
            enabled=skills.references.enabled,
            allow_assets=skills.references.allow_assets,
            default_max_bytes=skills.references.default_max_bytes,
        )
    return tools
