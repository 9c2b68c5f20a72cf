"""The tools a model is told of: the agent's and those for skills, less what the prompt or a parent leaves out."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.loop.calls import ACTIVATE
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.loop.ports import AgentPorts, RunScope
from skills_runtime.agent.options import AgentOptions, RunRequest
from skills_runtime.agent.run_defaults import RunDefaults
from skills_runtime.agent.skills.context import SteeredSkills
from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.agent.skills.library import names_skills
from skills_runtime.agent.skills.reload import SkillReloader
from skills_runtime.ports import Backend, Children, Files, ProcessRequest, Sandbox, SandboxPlan, Secrets, Tool
from skills_runtime.runs import KeyRing, LogPorts, Run, files_of, runs_root
from skills_runtime.runs.spec import WorkspaceMode
from skills_runtime.safety import Gate
from skills_runtime.safety.policy.rule_files import rules_for
from skills_runtime.safety.sanitize import Fingerprint
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.ports import Grant
    from skills_runtime.sandbox.denials import Aftermath, Denial
    from skills_runtime.skills import Library
    from skills_runtime.skills.own_runs import OwnRuns

SEARCHED = 30
"""With more skills than this the list for the model may not have room for all, and it can search."""


def offered(run: Run, resolved: "Resolved", equipment: AgentOptions) -> Registry:
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


def own_runs(resolved: "Resolved", equipment: AgentOptions, task: str) -> "OwnRuns":
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


def skill_tools(run: Run, resolved: "Resolved", equipment: AgentOptions, library: "Library") -> list[Tool]:
    """What a model does with skills; those that find and end them are there only where they are of use."""
    from skills_runtime.agent.skills.context import SkillRoom
    from skills_runtime.agent.skills.executions import RunExecutions
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


def gate_of(run: Run, resolved: "Resolved", equipment: AgentOptions, mode: WorkspaceMode) -> Gate:
    """The rules of a run, and who is asked."""
    safety, rules = resolved.settings.safety, equipment.rules or rules_for(resolved)
    if mode == "shared":  # wherever the run directory is; an isolated run lives below its own
        rules = msgspec.structs.replace(rules, control=(*rules.control, str(run.paths.root)))
    # What the rules say of a tool that names no place is the same in every run, unless one lies above its workspace.
    at_home = run.paths.root.parent == runs_root(resolved.workspace_root)
    return Gate(
        rules=rules,
        known=equipment.known if at_home else {},
        approver=equipment.approver,
        remembered=equipment.remembered,
        timeout_ms=safety.approval_timeout_ms,
        expires_sec=safety.approval_expires_sec,
        fingerprint=Fingerprint(run.log.key.secret),
    )


def secrets_in(resolved: "Resolved") -> Secrets:
    """What must not be shown of the environment that the settings name, and of that of the process."""
    from skills_runtime.safety.redaction import SecretRegistry, secrets_of

    known = resolved.environment
    values = {**known.stored, **known.dotenv.values, **known.process}
    return SecretRegistry(secrets_of(values, (resolved.settings.llm.api_key_env, *known.stored)))


def without_secrets(request: RunRequest, secrets: Secrets) -> RunRequest:
    """The request as it may be written down and shown to a model."""
    prompt, history = secrets.text(request.prompt), secrets.value(request.history)
    if prompt is request.prompt and history is request.history:
        return request
    return msgspec.structs.replace(request, prompt=prompt, history=tuple(history))


class FenceOnDemand:
    """The fence of a run, put up when the first process needs it: most runs start none."""

    def __init__(
        self,
        resolved: "Resolved",
        root: Path,
        *,
        writable: tuple[Path, ...] = (),
        may_leave: bool = False,
        skills: Callable[[], Iterable[Path]] = tuple,
    ) -> None:
        self._resolved = resolved
        self._skills = skills
        """The directories of the skills that are active: commands may read them."""
        self._root = root
        self._writable = writable
        self._may_leave = may_leave
        self._fence: Sandbox | None = None

    def denials(self, aftermath: "Aftermath", grant: "Grant | None" = None) -> "tuple[Denial, ...]":
        """What the fence stopped of a command that has ended; where there is none it stops nothing."""
        tell = getattr(self._fence, "denials", None)
        return tell(aftermath, grant) if tell is not None else ()

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """The command inside the fence."""
        if self._fence is None:
            from skills_runtime.sandbox import fence_for

            settings, variables = self._resolved.settings.sandbox, self._resolved.environment.process
            self._fence = fence_for(
                settings,
                workspace=self._root,
                variables=variables,
                writable=self._writable,
                may_leave=self._may_leave,
            )
        return self._fence.plan(self._with_skills(request))

    def _with_skills(self, request: ProcessRequest) -> ProcessRequest:
        directories = [path for path in self._skills() if not path.is_relative_to(self._root)]
        if not directories:
            return request
        from skills_runtime.sandbox.denials import control_directories, why_not_path

        control = control_directories(self._resolved.environment.process)
        readable = [
            path
            for path in directories
            if path.is_dir() and why_not_path(str(path), writing=False, control=control) is None
        ]
        return msgspec.structs.replace(request, readable=(*request.readable, *readable))


def skill_directories(run: Run) -> tuple[Path, ...]:
    """Where the files of the skills lie that are active in a run."""
    return tuple(Path(one.path).parent for one in run.view.conversation.skills.values() if one.path)


def log_ports(secrets: Secrets | None = None) -> LogPorts:
    """Keys, clock and disk of this machine; what is written down has no secrets."""
    from skills_runtime.config.environment import keys_home, process_environ
    from skills_runtime.safety.redaction import SecretRegistry, secrets_of

    known = secrets or SecretRegistry(secrets_of(process_environ()))
    return LogPorts(keys=KeyRing(keys_home()), secrets=known)


def agent_ports(
    run: Run,
    standing: RunDefaults,
    equipment: AgentOptions,
    backend: Backend,
    *,
    control: Control,
    children: Children | None,
) -> AgentPorts:
    """What the loop works with."""
    resolved = standing.resolved
    settings, secrets = resolved.settings, equipment.secrets or secrets_in(resolved)
    mode = _mode(run, settings.sandbox.workspace)
    root = resolved.workspace_root if mode == "shared" else run.paths.root / "workspace"
    return AgentPorts(
        backend=backend,
        tools=offered(run, resolved, equipment),
        files=_files(run, resolved, mode),
        gate=gate_of(run, resolved, equipment, mode),
        # Somebody is always asked about a call that wants to leave the fence: one that gets there was approved.
        sandbox=FenceOnDemand(
            resolved,
            root,
            writable=(run.paths.deliverables,),
            may_leave=True,
            skills=lambda: skill_directories(run),
        ),
        secrets=secrets,
        root=root,
        system_prompt=run.text("effective-system-prompt.md"),
        planner_model=settings.models.planner,
        executor_model=settings.models.executor,
        prices=standing.prices,
        budget=equipment.budget or standing.budget,
        context=standing.context,
        output_schema=settings.run.output_schema,
        review=settings.run.review == "required",
        inbox=equipment.inbox,
        skills_of=equipment.skills_of or SteeredSkills(run, resolved, equipment, secrets),
        skill_changes=SkillReloader(equipment.library, run) if equipment.library is not None else None,
        human=equipment.human,
        human_timeout_ms=settings.run.human_timeout_ms,
        control=control,
        children=equipment.children or children,
        scope=_scope(equipment),
    )


def _files(run: Run, resolved: "Resolved", mode: WorkspaceMode) -> Callable[[], Files]:
    workspace, made = resolved.workspace_root, list[Files]()

    def files() -> Files:
        if not made:
            made.append(files_of(run, workspace, mode=mode, delete=resolved.settings.sandbox.delete))
        return made[0]

    if mode == "shared" and os.path.samefile(run.paths.root, workspace):  # noqa: PTH121 - done for every run
        files()  # says why that cannot be, before anything has happened
    return files


def _scope(equipment: AgentOptions) -> RunScope:
    """What tools hold on to; sessions that outlast the run are only lent to it."""
    scope, sessions = RunScope(), equipment.sessions
    if sessions is not None:
        from skills_runtime.tools.exec_sessions import Lent
        from skills_runtime.tools.terminals import RunSessions

        scope.hold(RunSessions, lambda: Lent(sessions))
    return scope


def _mode(run: Run, now: WorkspaceMode) -> WorkspaceMode:
    """Where the run was told to work when it was made, whatever the settings say now."""
    recorded: dict[str, WorkspaceMode] = {"shared": "shared", "isolated": "isolated"}
    return recorded.get(run.state.workspace_mode, now)
