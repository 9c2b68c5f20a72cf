"""Build the ports that the log and the loop work with from settings and options.

Tools, gate, sandbox, files and secrets are wired only here. Configuration and skill tools are imported where they are
used: reading settings needs pydantic, importing an agent does not.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.loop import AgentPorts, Control, RunScope
from skills_runtime.agent.options import AgentOptions
from skills_runtime.agent.run_defaults import RunDefaults
from skills_runtime.agent.skills.context import InboxSkills, SkillContext, SkillReloader, can_have_skills
from skills_runtime.ports import Backend, Children, Files, ProcessRequest, Sandbox, SandboxPlan, Secrets, Tool
from skills_runtime.runs import KeyRing, LogPorts, Run, WorkspaceMode, files_of, runs_root
from skills_runtime.safety import Fingerprint, Gate
from skills_runtime.skills import apply_template, build_catalog, select_tools
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.ports import Grant
    from skills_runtime.sandbox import Denial, ProcessOutcome
    from skills_runtime.skills import Library

SEARCHABLE_SKILLS = 30
"""With more skills than this the catalog may not fit into the prompt, and the model gets a search tool."""


def log_ports(secrets: Secrets | None = None) -> LogPorts:
    """Return keys, clock and disk of this machine; the log is redacted."""
    from skills_runtime.config import keys_home, process_environ
    from skills_runtime.safety.redaction import SecretRegistry, find_secrets

    registry = secrets or SecretRegistry(find_secrets(process_environ()))
    return LogPorts(keys=KeyRing(keys_home()), secrets=registry)


def secrets_in(resolved: "Resolved") -> Secrets:
    """Return the secrets of the configured environment and of the process environment."""
    from skills_runtime.safety.redaction import SecretRegistry, find_secrets

    environment = resolved.environment
    values = {**environment.stored, **environment.dotenv.values, **environment.process}
    return SecretRegistry(find_secrets(values, (resolved.settings.llm.api_key_env, *environment.stored)))


def agent_ports(
    run: Run,
    defaults: RunDefaults,
    options: AgentOptions,
    backend: Backend,
    *,
    control: Control,
    children: Children | None,
) -> AgentPorts:
    """Return the ports of the loop."""
    resolved = defaults.resolved
    settings, secrets = resolved.settings, options.secrets or secrets_in(resolved)
    # The workspace mode was fixed when the run was created; later settings do not change it.
    modes: dict[str, WorkspaceMode] = {"shared": "shared", "isolated": "isolated"}
    mode = modes.get(run.state.workspace_mode, settings.sandbox.workspace)
    root = resolved.workspace_root if mode == "shared" else run.paths.root / "workspace"
    scope = RunScope()
    if (sessions := options.sessions) is not None:  # these sessions outlast the run, which only borrows them
        from skills_runtime.tools import BorrowedSessions, RunSessions  # loads the process code

        scope.hold(RunSessions, lambda: BorrowedSessions(sessions))
    return AgentPorts(
        backend=backend,
        tools=build_toolset(run, resolved, options),
        files=_files(run, resolved, mode),
        gate=build_gate(run, resolved, options, mode),
        # Leaving the sandbox always needs an approval, so a call that gets here was approved.
        sandbox=LazySandbox(
            resolved,
            root,
            writable=(run.paths.deliverables,),
            may_leave=True,
            quarantine=run.paths.quarantine,
            skills=lambda: [Path(skill.path).parent for skill in run.view.conversation.skills.values() if skill.path],
        ),
        secrets=secrets,
        root=root,
        system_prompt=run.text("effective-system-prompt.md"),
        planner_model=defaults.models.planner,
        executor_model=defaults.models.executor,
        prices=defaults.prices,
        budget=options.budget or defaults.budget,
        context=defaults.context,
        output_schema=settings.run.output_schema,
        review=settings.run.review == "required",
        inbox=options.inbox,
        skills_of=options.skills_of or InboxSkills(run, resolved, options, secrets),
        skill_changes=SkillReloader(options.library, run) if options.library is not None else None,
        human=options.human,
        human_timeout_ms=settings.run.human_timeout_ms,
        control=control,
        children=options.children or children,
        scope=scope,
    )


def build_gate(run: Run, resolved: "Resolved", options: AgentOptions, mode: WorkspaceMode) -> Gate:
    """Return the gate of a run: its rules and its approver."""
    assert options.rules is not None, "the agent has read them before the run"
    safety, rules = resolved.settings.safety, options.rules
    if mode == "shared":  # protect the run directory; an isolated run works inside its own
        rules = msgspec.structs.replace(rules, control=(*rules.control, str(run.paths.root)))
    # Decisions on tools without paths are the same in every run, unless the run directory lies above the workspace.
    is_default_root = run.paths.root.parent == runs_root(resolved.workspace_root)
    return Gate(
        rules=rules,
        decision_cache=options.decision_cache if is_default_root else {},
        approver=options.approver,
        remembered=options.remembered,
        timeout_ms=safety.approval_timeout_ms,
        expires_sec=safety.approval_expires_sec,
        fingerprint=Fingerprint(run.log.key.secret),
    )


def _files(run: Run, resolved: "Resolved", mode: WorkspaceMode) -> Callable[[], Files]:
    """Return a function that opens the files of a run on first use."""
    workspace, cache = resolved.workspace_root, list[Files]()

    def files() -> Files:
        if not cache:
            from skills_runtime.sandbox import runtime_code  # loads the sandbox code

            delete, code = resolved.settings.sandbox.delete, runtime_code(workspace)
            cache.append(files_of(run, workspace, mode=mode, delete=delete, read_only=code))
        return cache[0]

    if mode == "shared" and os.path.samefile(run.paths.root, workspace):  # noqa: PTH121 - done for every run
        files()  # raises at once if the run directory is the workspace itself
    return files


def build_toolset(run: Run, resolved: "Resolved", options: AgentOptions) -> Registry:
    """Return the tools offered to the model: the agent's and those for skills, minus what prompt or parent exclude.

    A tool of the agent wins over a skill tool of the same name.
    """
    tools, library = options.tools, options.library
    if library is not None:
        own = _skill_tools(run, resolved, options, library)
        tools = Registry(*tools, *(tool for tool in own if tools.find(tool.spec.name) is None))
    settings, task = apply_template(resolved.settings.prompt, options.templates), run.text("prompt.md")
    names = select_tools(settings, task, [tool.spec.name for tool in tools])
    for allowed in (names, options.allowed_tools):
        if allowed is not None:  # an explicitly allowed tool is offered even if it is not listed by default
            tools = Registry(*(tool for tool in tools if tool.spec.name in allowed), listing=allowed)
    if resolved.settings.tools.compat:
        tools = Registry(*tools, listing=[tool.spec.name for tool in tools])
    return tools


def _skill_tools(run: Run, resolved: "Resolved", options: AgentOptions, library: "Library") -> list[Tool]:
    """Return the tools for skills; activation, unloading and search only if there are skills."""
    from skills_runtime.agent.skills.executions import RunExecutions
    from skills_runtime.tools.builtin import (
        ActivateSkill,
        ReadSkillFile,
        SearchSkills,
        SkillExec,
        SkillRefRead,
        UnloadSkill,
    )

    settings, context = resolved.settings.skills, SkillContext(run, resolved, options, library)
    skills = library.list()
    tools: list[Tool] = []
    if settings.actions.enabled:
        tools.append(SkillExec(library, enabled=True, runner=RunExecutions(run.paths.root / "executions", library)))
    if settings.references.enabled:
        tools.append(SkillRefRead(library, **dict(settings.references)))
    if not skills and not library.all():
        return tools
    tools += [
        ActivateSkill(library, context),
        UnloadSkill(active=context.active),
        ReadSkillFile(library, active=context.active),
    ]
    budget = library.rules.catalog_tokens
    if len(skills) > SEARCHABLE_SKILLS or build_catalog(skills, budget_tokens=budget).report.level == "search":
        tools.append(SearchSkills(library))
    return tools


def previewable_tools(resolved: "Resolved") -> dict[str, Tool]:
    """Return the tools that can preview a call without a run, by name."""
    from skills_runtime.skills import load_library  # loads all of the settings code, which importing an agent must not
    from skills_runtime.tools.builtin import SkillExec, SkillRefRead

    tools: dict[str, Tool] = {tool.spec.name: tool for tool in builtin_tools()}
    library, skills = load_library(resolved), resolved.settings.skills
    if can_have_skills(library, resolved):
        tools["skill_exec"] = SkillExec(library, enabled=skills.actions.enabled)
        tools["skill_ref_read"] = SkillRefRead(library, **dict(skills.references))
    return tools


def configuration_files(resolved: "Resolved") -> tuple[Path, ...]:
    """Return the files that configure the next run in a workspace."""
    env_file = (resolved.env_file,) if resolved.env_file else ()
    return (*resolved.overlay_paths, *env_file, *map(Path, resolved.settings.safety.rule_files))


class LazySandbox:
    """The sandbox of a run, created when the first process needs it: most runs start none."""

    def __init__(
        self,
        resolved: "Resolved",
        root: Path,
        *,
        writable: tuple[Path, ...] = (),
        may_leave: bool = False,
        quarantine: Path | None = None,
        skills: Callable[[], Iterable[Path]] = tuple,
    ) -> None:
        self._resolved = resolved
        self._skills = skills
        """Returns the directories of active skills, which commands may read."""
        self._root = root
        self._writable = writable
        self._may_leave = may_leave
        self._quarantine = quarantine
        self._sandbox: Sandbox | None = None

    def denials(self, outcome: "ProcessOutcome", grant: "Grant | None" = None) -> "tuple[Denial, ...]":
        """Return what the sandbox denied a finished command; empty without a sandbox."""
        describe = getattr(self._sandbox, "denials", None)
        return describe(outcome, grant) if describe is not None else ()

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Return the command inside the sandbox."""
        if self._sandbox is None:
            from skills_runtime.sandbox import build_sandbox, load_runtime_code
            from skills_runtime.skills import find_bundled_skills

            settings, variables = self._resolved.settings.sandbox, self._resolved.environment.process
            self._sandbox = build_sandbox(
                settings,
                workspace=self._root,
                variables=variables,
                writable=self._writable,
                protected=(*configuration_files(self._resolved), find_bundled_skills()),
                may_leave=self._may_leave,
                quarantine=self._quarantine,
            )
            load_runtime_code(self._root.resolve())
        return self._sandbox.plan(self._with_skills(request))

    def _with_skills(self, request: ProcessRequest) -> ProcessRequest:
        directories = [path for path in self._skills() if not path.is_relative_to(self._root)]
        if not directories:
            return request
        from skills_runtime.sandbox import control_directories, why_not_path

        control = control_directories(self._resolved.environment.process)
        readable = [
            path
            for path in directories
            if path.is_dir() and why_not_path(str(path), writing=False, control=control) is None
        ]
        return msgspec.structs.replace(request, readable=(*request.readable, *readable))
