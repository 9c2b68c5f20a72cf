"""An executor as the settings want it: its fences, variables that skills declare, and packages for their scripts."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.executions import ExecutionLimits, Executor, Interpreter, PoolLimits, Supplies
from skills_runtime.skills.skill import Skill

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skills_runtime.config import Resolved
    from skills_runtime.config.models import SandboxSettings
    from skills_runtime.executions.jobs import MakeDoorman, MakeFence
    from skills_runtime.ports import Sandbox
    from skills_runtime.skills import Library
    from skills_runtime.tools.skill_environments import Environments


class ScriptPackages:
    """Environments with the packages that the entries of skills say they need."""

    def __init__(self, environments: "Environments | None" = None) -> None:
        self._environments = environments

    async def interpreter(self, skill: Skill, file: str) -> Interpreter | None:
        """The Python for a file of a skill, or nothing where any will do."""
        from skills_runtime.tools.skill_environments import needed_by

        assert skill.directory is not None, "it has a file"
        need = needed_by(skill, ("python3", str(skill.directory / file)))
        if need is None:
            return None
        if self._environments is None:
            from skills_runtime.tools.skill_environments import Environments

            self._environments = Environments()
        await self._environments.provide(need)
        directory = self._environments.directory(need)
        return Interpreter(program=str(self._environments.python(need)), readable=(directory,))


def fences_of(settings: "SandboxSettings", variables: "Mapping[str, str]") -> "tuple[MakeFence, MakeFence]":
    """The fence without any network, and the one with the hosts that the settings let be reached."""
    from skills_runtime.sandbox import fence_for

    closed_settings = settings.model_copy(update={"egress": type(settings.egress)()})

    def closed(workspace: Path) -> "Sandbox":
        return fence_for(closed_settings, workspace=workspace, variables=variables)

    def opened(workspace: Path) -> "Sandbox":
        return fence_for(settings, workspace=workspace, variables=variables)

    return closed, opened


def variables_of(library: "Library", skill: Skill) -> "Mapping[str, str]":
    """The variables that a skill declares, as far as they are set; a missing one that it requires is an error."""
    from skills_runtime.skills.prompt.injection import missing_variables

    missing = library.missing(skill)
    if missing:
        raise missing_variables(skill, missing)
    optional = skill.run.env if skill.run is not None else ()
    names = (*skill.required_env_vars, *optional)
    return library.variables(msgspec.structs.replace(skill, required_env_vars=names))


def executor_for(
    place: Path,
    resolved: "Resolved",
    library: "Library",
    *,
    doorman: "MakeDoorman",
    limits: ExecutionLimits | None = None,
    pool: PoolLimits | None = None,
) -> Executor:
    """An executor for the skills of a library under these settings."""
    closed, opened = fences_of(resolved.settings.sandbox, resolved.environment.process)
    supplies = Supplies(
        variables=lambda skill: variables_of(library, skill),
        packages=ScriptPackages(),
        doorman=doorman,
        network=opened,
    )
    return Executor(place, closed, limits=limits, pool=pool, supplies=supplies)
