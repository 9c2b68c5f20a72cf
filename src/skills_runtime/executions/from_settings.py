"""Build executors from settings: sandboxes, the variables that skills declare, and packages for their scripts."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.executions.executor import Executor
from skills_runtime.executions.jobs import Interpreter, MakeEgressCallbacks, MakeSandbox
from skills_runtime.executions.runner import Supplies
from skills_runtime.executions.values import ExecutionLimits, PoolLimits
from skills_runtime.processes import ScriptEnvironments, find_need
from skills_runtime.sandbox import build_sandbox
from skills_runtime.skills import Skill, missing_variables

if TYPE_CHECKING:
    from skills_runtime.config import Resolved, SandboxSettings
    from skills_runtime.skills import Library


class ScriptPackages:
    """Python environments with the packages that skills declare."""

    def __init__(self, environments: ScriptEnvironments | None = None) -> None:
        self._environments = environments or ScriptEnvironments()

    async def interpreter(self, skill: Skill, file: str) -> Interpreter | None:
        """Return the Python for a file of a skill; None if any Python will do."""
        assert skill.directory is not None, "it has a file"
        need = find_need(skill, ("python3", str(skill.directory / file)))
        if need is None:
            return None
        await self._environments.provide(need)
        directory = self._environments.directory(need)
        return Interpreter(program=str(self._environments.python(need)), readable=(directory,))


def build_sandboxes(settings: "SandboxSettings", variables: Mapping[str, str]) -> tuple[MakeSandbox, MakeSandbox]:
    """Return the sandbox without any network, and the one with the hosts that the settings allow."""
    offline = settings.model_copy(update={"egress": type(settings.egress)()})
    return (
        lambda workspace: build_sandbox(offline, workspace=workspace, variables=variables),
        lambda workspace: build_sandbox(settings, workspace=workspace, variables=variables),
    )


def declared_variables(library: "Library", skill: Skill) -> Mapping[str, str]:
    """Return the variables that a skill declares and that are set; one that it requires must be."""
    missing = library.missing(skill)
    if missing:
        raise missing_variables(skill, missing)
    optional = skill.run.env if skill.run is not None else ()
    names = (*skill.required_env_vars, *optional)
    return library.variables(msgspec.structs.replace(skill, required_env_vars=names))


def build_executor(
    path: Path,
    resolved: "Resolved",
    library: "Library",
    *,
    egress_callbacks: MakeEgressCallbacks,
    limits: ExecutionLimits | None = None,
    pool: PoolLimits | None = None,
) -> Executor:
    """Build an executor for the skills of a library under these settings."""
    offline, online = build_sandboxes(resolved.settings.sandbox, resolved.environment.process)
    supplies = Supplies(
        variables=lambda skill: declared_variables(library, skill),
        packages=ScriptPackages(),
        egress_callbacks=egress_callbacks,
        network=online,
    )
    return Executor(path, offline, limits=limits, pool=pool, supplies=supplies)
