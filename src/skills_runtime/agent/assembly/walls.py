"""What stands around a run: the gate every call passes, the fence around processes, and the secrets kept from sight."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.agent.equipment import Equipment, RunRequest
from skills_runtime.ports import ProcessRequest, Sandbox, SandboxPlan, Secrets
from skills_runtime.runs import Run, runs_root
from skills_runtime.runs.spec import WorkspaceMode
from skills_runtime.safety import Gate
from skills_runtime.safety.policy.rule_files import rules_for
from skills_runtime.safety.sanitize import Fingerprint

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.ports import Grant
    from skills_runtime.sandbox.denials import Aftermath, Denial


def gate_of(run: Run, resolved: "Resolved", equipment: Equipment, mode: WorkspaceMode) -> Gate:
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
    from skills_runtime.safety.redaction import Keeper, secrets_of

    known = resolved.environment
    values = {**known.stored, **known.dotenv.values, **known.process}
    return Keeper(secrets_of(values, (resolved.settings.llm.api_key_env, *known.stored)))


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
