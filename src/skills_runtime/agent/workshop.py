"""Where runs are made and worked on, from settings and what an agent was given."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgspec

from skills_runtime.agent.loop import run_segment
from skills_runtime.agent.loop.control import Control, close_all, poll_cancel_checker
from skills_runtime.agent.loop.outcomes import interrupted, stopped
from skills_runtime.agent.options import AgentOptions, RunRequest
from skills_runtime.agent.output import check_schema
from skills_runtime.agent.result import RunResult, result_of
from skills_runtime.agent.run_defaults import RunDefaults, backend_for, standing_of
from skills_runtime.agent.run_inputs import (
    BEGUN,
    config_text_of,
    gather,
    prompt_parts,
    spec_for,
    start,
    text_in,
    told_of,
)
from skills_runtime.agent.run_ports import agent_ports, log_ports, secrets_in, without_secrets
from skills_runtime.agent.skills.library import library_for, names_skills
from skills_runtime.agent.subagents.cancel import finish_family
from skills_runtime.agent.subagents.children import ChildRuns
from skills_runtime.errors import StorageFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Backend, Question
from skills_runtime.runs import Run, check_id, create_run, fork_point, open_run, runs_root
from skills_runtime.safety import Rules
from skills_runtime.safety.gate import Known
from skills_runtime.safety.policy.rule_files import rules_for
from skills_runtime.tools import Registry

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.skills import Library, MissingVariable


class Workshop:
    """Makes the runs of one agent, and works on them."""

    def __init__(self, resolved: "Resolved", equipment: AgentOptions) -> None:
        self._resolved = resolved
        self._equipment = equipment
        self._backend = equipment.backend
        self._tools: Registry = equipment.tools
        self._config_text: str | None = None
        self._secrets = equipment.secrets or secrets_in(resolved)
        self._log_ports = log_ports(self._secrets)
        self._variables: dict[str, str] = {}
        self._rules: Rules | None = equipment.rules
        self._known: Known = {}
        self._stands: RunDefaults | None = None
        self._equipment_of: WeakKeyDictionary[Run, AgentOptions] = WeakKeyDictionary()
        """What runs were made with that nobody has worked on yet: skills are looked for once."""

    @property
    def resolved(self) -> "Resolved":
        """The settings, and where each comes from."""
        return self._resolved

    @property
    def workspace_root(self) -> Path:
        """Where the agent works."""
        return self._resolved.workspace_root

    @property
    def _has_skills(self) -> bool:
        """Whether a run can have any skills at all; asked again for every run, since some may have appeared."""
        return self._equipment.library is not None or names_skills(self._resolved)

    def fork(self, root: Path, seq: int, *, prompt: str | None = None, run_id: str | None = None) -> Run:
        """A new run that goes on from event `seq` of another, perhaps with another prompt."""
        point = fork_point(root, seq, self._log_ports)
        task = prompt if prompt is not None else text_in(Path(point.root) / "prompt.md")
        return self.create(RunRequest(prompt=task, run_id=run_id, fork=point))

    def create(self, request: RunRequest, *, told: "Sequence[MissingVariable]" = (), working: bool = False) -> Run:
        """Make the directory of a new run with all it starts from; `pending`, or `working` from its first moment.

        `told` are the variables that somebody was asked for.
        """
        schema = self._resolved.settings.run.output_schema
        if schema is not None:
            check_schema(schema)
        equipment = self._equipped()  # rules that cannot be read leave no run behind
        request = without_secrets(request, self._secrets)
        if self._config_text is None:
            self._config_text = config_text_of(self._resolved, self._secrets)
        material = gather(self._resolved, request, equipment, self._secrets)
        spec = spec_for(
            self._resolved,
            request,
            config_text=self._config_text,
            system_prompt=material.system_prompt,
            beginning=(*told_of(told, self._resolved), *material.events, *((BEGUN,) if working else ())),
            blobs=material.blobs,
        )
        run = create_run(spec, self._log_ports)
        self._equipment_of[run] = equipment
        return run

    def resume(self, root: Path, *, adopt: bool = False) -> Run:
        """Open a run that has not ended, to go on with it."""
        return open_run(root, self._log_ports, adopt=adopt)

    async def execute(self, run: Run, *, control: Control | None = None) -> RunResult:
        """Work on an open run until it ends, waits or is left for later, then close it."""
        control = control or Control()
        try:
            for hook in self._equipment.hooks:
                run.listen(hook)
            equipment = self._equipment_of.pop(run, None) or self._equipped()
            children = ChildRuns(self, equipment, run)
            standing, strategy = self._standing(), self._resolved.settings.run.resume_strategy
            ports = agent_ports(run, standing, equipment, self._model(), control=control, children=children)
            await start(run, workspace_root=self.workspace_root, summary=standing.summary, strategy=strategy)
            try:
                async with poll_cancel_checker(self._equipment.cancel_checker, control):
                    await run_segment(run, ports)
            finally:
                await close_all(children, ports.scope)
        except asyncio.CancelledError:
            self._leave(run, control)
            raise
        except StorageFailed as error:
            # The disk is the one thing the log cannot tell of: the run stays open and can be resumed.
            return result_of(run, error)
        finally:
            run.close()
        return result_of(run, structured=self._resolved.settings.run.output_schema is not None)

    def _leave(self, run: Run, control: Control) -> None:
        """Record an interruption that the loop did not, because it had not begun or was done."""
        locator = str(run.paths.events)
        if not run.state.open:
            return
        if not control.stopping:
            finish_family(run, self._equipment.inbox, lambda: interrupted(run.view, "", locator))
            return
        if run.state.status is RunStatus.RUNNING:
            run.append(stopped(locator))
        run.commit()
        run.save()

    async def aclose(self) -> None:
        """Close the model's connections in this event loop; the agent can still be used."""
        close: Callable[[], Awaitable[None]] | None = getattr(self._backend, "aclose", None)
        if close is not None:
            await close()

    async def _ask_for_variables(self, task: str) -> "Sequence[MissingVariable]":
        """Ask for what skills need and nobody has set; the values are kept in memory only."""
        human = self._equipment.human
        if human is None or not self._has_skills:
            return ()
        missing = prompt_parts(self._resolved, task, (), self._library(), self._equipment.templates).missing_env
        for one in missing:
            question = Question(id=one.name, question=f"The skill `{one.skill_name}` needs `{one.name}`. What is it?")
            self._variables[one.name] = await human.ask(question, call_id=f"variable_{one.name}")
            self._secrets.hide(self._variables[one.name])
        return missing

    def _equipped(self) -> AgentOptions:
        """What runs are given; rule files are read once, as the settings are."""
        if self._rules is None:
            self._rules = rules_for(self._resolved)
        library = self._library() if self._has_skills else None
        return msgspec.structs.replace(
            self._equipment, rules=self._rules, known=self._known, secrets=self._secrets, library=library
        )

    def _library(self) -> "Library":
        return library_for(self._resolved, self._equipment, self._variables)

    def _standing(self) -> RunDefaults:
        if self._stands is None:
            self._stands = standing_of(self._resolved)
        return self._stands

    def _model(self) -> Backend:
        if self._backend is None:
            self._backend = backend_for(self._resolved)
        return self._backend

    async def _open(self, request: RunRequest) -> Run:
        """The run with this id if it exists, else a new one."""
        self._model()  # a configuration that cannot work leaves no run behind
        self._standing()
        existing = self._existing(request.run_id)
        return existing or self.create(request, told=await self._ask_for_variables(request.prompt), working=True)

    def _existing(self, run_id: str | None) -> Run | None:
        if run_id is None:
            return None
        root = runs_root(self._resolved.workspace_root) / check_id(run_id, "run")
        return open_run(root, self._log_ports) if root.exists() else None
