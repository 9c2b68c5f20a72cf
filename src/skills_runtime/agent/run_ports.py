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
from skills_runtime.agent.skills.context import InboxSkills, SkillContext, SkillReloader
from skills_runtime.ports import Backend, Children, Files, ProcessRequest, Sandbox, SandboxPlan, Secrets, Tool
from skills_runtime.runs import KeyRing, LogPorts, Run, WorkspaceMode, files_of, runs_root
from skills_runtime.safety import Fingerprint, Gate, never_sandboxed
from skills_runtime.skills import apply_template, build_catalog, is_bundled, select_tools
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
    # Leaving the sandbox always needs an approval, so a call that gets there was approved.
    sandbox = LazySandbox(
        resolved,
        root,
        writable=(run.paths.deliverables,),
        may_leave=True,
        quarantine=run.paths.quarantine,
        skills=lambda: [Path(skill.path).parent for skill in run.view.conversation.skills.values() if skill.path],
    )
    scope = RunScope()
    if (sessions := options.sessions) is not None:  # these sessions outlast the run, which only borrows them
        from skills_runtime.tools import BorrowedSessions, RunSessions  # loads the process code

        scope.hold(RunSessions, lambda: BorrowedSessions(sessions))
    tools = build_toolset(run, resolved, options)

    def add_skill_tools() -> None:
        """Offer the tools for skills once a message has named the first skill of a run that had none."""
        for tool in build_toolset(run, resolved, options, uses_skills=True):
            if tools.find(tool.spec.name) is None:
                tools.add(tool)

    return AgentPorts(
        backend=backend,
        tools=tools,
        files=_files(run, resolved, mode),
        gate=build_gate(run, resolved, options, mode, is_sandboxed=sandbox.contains_commands),
        sandbox=sandbox,
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
        skills_of=options.skills_of or InboxSkills(run, resolved, options, secrets, on_activation=add_skill_tools),
        skill_changes=SkillReloader(options.library, run) if options.library is not None else None,
        human=options.human,
        human_timeout_ms=settings.run.human_timeout_ms,
        control=control,
        children=options.children or children,
        scope=scope,
    )


def build_gate(
    run: Run,
    resolved: "Resolved",
    options: AgentOptions,
    mode: WorkspaceMode,
    *,
    is_sandboxed: Callable[[], bool] = never_sandboxed,
) -> Gate:
    """Return the gate of a run: its rules, its approver, and what it knows of the sandbox."""
    assert options.rules is not None, "the agent has read them before the run"
    safety, rules = resolved.settings.safety, options.rules
    if mode == "shared":  # protect the run directory; an isolated run works inside its own
        rules = msgspec.structs.replace(rules, control=(*rules.control, str(run.paths.root)))
    else:
        rules = msgspec.structs.replace(rules, outputs=(f"../{run.paths.deliverables.name}",))
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
        is_sandboxed=is_sandboxed,
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


def build_toolset(
    run: Run, resolved: "Resolved", options: AgentOptions, *, uses_skills: bool | None = None
) -> Registry:
    """Return the tools offered to the model: the agent's and those for skills, minus what prompt or parent exclude.

    A tool of the agent wins over a skill tool of the same name. A run without skills has no tools for them.
    """
    tools, library = options.tools, options.library
    if library is not None and (_uses_skills(run, library) if uses_skills is None else uses_skills):
        own = _skill_tools(run, resolved, options, library)
        tools = Registry(*tools, *(tool for tool in own if tools.find(tool.spec.name) is None))
    settings, task = apply_template(resolved.settings.prompt, options.templates), run.text("prompt.md")
    names = select_tools(settings, task, [tool.spec.name for tool in tools])
    for allowed in (names, options.allowed_tools):
        if allowed is not None:  # an explicitly allowed tool is offered even if it is not listed by default
            tools = Registry(*(tool for tool in tools if tool.spec.name in allowed), listing=allowed)
    if resolved.settings.tools.compat:
        is_off = "" if resolved.settings.skills.actions.enabled else "skill_exec"
        tools = Registry(*tools, listing=[tool.spec.name for tool in tools if tool.spec.name != is_off])
    return tools


def _uses_skills(run: Run, library: "Library") -> bool:
    """Return whether a run has an active skill, or skills besides the bundled ones, which it has to name."""
    return bool(run.view.conversation.skills) or any(not is_bundled(skill) for skill in library.all())


def _skill_tools(run: Run, resolved: "Resolved", options: AgentOptions, library: "Library") -> list[Tool]:
    """Return the tools for skills."""
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
    runner = RunExecutions(run.paths.root / "executions", library)
    tools: list[Tool] = [SkillExec(library, enabled=settings.actions.enabled, runner=runner)]
    if settings.references.enabled:
        tools.append(SkillRefRead(library, **dict(settings.references)))
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
    tools["skill_exec"] = SkillExec(library, enabled=skills.actions.enabled)
    tools["skill_ref_read"] = SkillRefRead(library, **dict(skills.references))
    return tools


def configuration_files(resolved: "Resolved") -> tuple[Path, ...]:
    """Return the files that configure the next run in a workspace."""
    env_file = (resolved.env_file,) if resolved.env_file else ()
    return (*resolved.overlay_paths, *env_file, *map(Path, resolved.settings.safety.rule_files))


def contains_commands(resolved: "Resolved") -> bool:
    """Return whether commands of a run with these settings execute in an active sandbox."""
    return LazySandbox(resolved, resolved.workspace_root).contains_commands()


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
        self._is_containing: bool | None = None

    def denials(self, outcome: "ProcessOutcome", grant: "Grant | None" = None) -> "tuple[Denial, ...]":
        """Return what the sandbox denied a finished command; empty without a sandbox."""
        describe = getattr(self._sandbox, "denials", None)
        return describe(outcome, grant) if describe is not None else ()

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Return the command inside the sandbox."""
        return self._open().plan(self._with_skills(request))

    def contains_commands(self) -> bool:
        """Return whether the sandbox is active and keeps commands from all that cannot be undone outside."""
        from skills_runtime.sandbox import is_containing

        if self._is_containing is None:
            self._is_containing = is_containing(self._open())
        return self._is_containing

    def _open(self) -> Sandbox:
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
        return self._sandbox

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
