"""Every error of this package as one tree; the base classes say who must act.

    SkillsRuntimeError
    ├── UsageError              the caller: arguments, configuration, files they named
    │   ├── ValidationFailed      validation
    │   ├── ConfigError           config_error
    │   ├── NotFound              not_found
    │   ├── AccessRefused         permission
    │   ├── RunExists             run_exists
    │   ├── IllegalTransition     illegal_transition
    │   ├── ApprovalStale         approval_stale
    │   └── RequestConflict       conflict
    ├── PolicyDenied            the author of the rule; the model is told
    │   ├── PathEscape            path_escape
    │   ├── WriteRefused          write_refused
    │   ├── DeleteDisabled        delete_disabled
    │   └── ApprovalDenied        approval_denied
    ├── ToolError               the model: try something else (kind is one of TOOL_KINDS)
    ├── ModelError              the provider (kind is one of MODEL_KINDS)
    ├── Busy                    the caller, later: busy
    ├── SandboxError            the operator: sandbox_denied
    └── LogError                the data on disk
        ├── LogCorrupt            log_corrupt
        ├── LogLocked             log_locked
        ├── LogTooNew             log_too_new
        ├── LogEnded              log_ended
        ├── KeyMissing            key_missing
        └── StorageFailed         storage_error

Waiting, limits and cancellation are values, not errors.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict, Unpack

TOOL_KINDS = (
    "validation", "permission", "not_found", "timeout", "exit_code",
    "cancelled", "sandbox_denied", "human_required", "unknown",
)  # fmt: skip
MODEL_KINDS = (
    "llm_error", "auth_error", "rate_limited", "server_error", "http_error", "context_length_exceeded",
)  # fmt: skip


class Parameters(TypedDict, total=False):
    """Facts about an error, part of its `details`: a client can translate the kind with these."""

    resource: Literal["run", "session", "skill", "file", "execution", "key"]
    name: str
    field: str
    run_id: str
    status: str
    seq: int
    origin: str
    line: int
    target: str
    exit_code: int
    retry_after_ms: int


class Kind(NamedTuple):
    """The fixed properties of an error kind: its exit code, and the parameters it may have."""

    exit_code: int
    parameters: tuple[str, ...] = ()


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "validation": Kind(20, ("field",)),
        "config_error": Kind(20, ("origin", "line")),
        "missing_env_var": Kind(20),
        "run_exists": Kind(20, ("run_id",)),
        "illegal_transition": Kind(20, ("status",)),
        "approval_stale": Kind(20),
        "conflict": Kind(20),
        "log_corrupt": Kind(20, ("seq",)),
        "log_locked": Kind(20, ("run_id",)),
        "log_too_new": Kind(20),
        "log_ended": Kind(20, ("run_id",)),
        "key_missing": Kind(20),
        "permission": Kind(21),
        "path_escape": Kind(21),
        "write_refused": Kind(21),
        "delete_disabled": Kind(21),
        "approval_denied": Kind(21),
        "not_found": Kind(22, ("resource", "name")),
        "unknown": Kind(23),
        "storage_error": Kind(23),
        "exit_code": Kind(23, ("exit_code",)),
        "llm_error": Kind(23),
        "auth_error": Kind(23),
        "rate_limited": Kind(23, ("retry_after_ms",)),
        "server_error": Kind(23),
        "http_error": Kind(23),
        "context_length_exceeded": Kind(23),
        "budget_exceeded": Kind(23),
        "busy": Kind(23, ("retry_after_ms",)),
        "sandbox_denied": Kind(24, ("target",)),
        "timeout": Kind(25),
        "human_required": Kind(26),
        "cancelled": Kind(27),
    }
)
"""Every kind of error; Studio has a message for each, in every language."""

EXIT_CODES: Mapping[str, int] = MappingProxyType({name: kind.exit_code for name, kind in KINDS.items()})
"""Exit code of the command line for every error kind; 1 is a run that failed, 2 is wrong usage."""


class SkillsRuntimeError(Exception):
    """One sentence for a user, a stable `kind` with parameters for a program, and a `hint` for the next step."""

    kind: str = "unknown"
    default_hint: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        details: Mapping[str, Any] | None = None,
        **parameters: Unpack[Parameters],
    ) -> None:
        super().__init__(message)
        self.message, self.hint = str(message), str(hint or self.default_hint)
        self.phrases = (message, hint or self.default_hint)
        """The message and the hint, as phrases where they can be translated."""
        self.details: dict[str, Any] = {**parameters, **(details or {})}

    @property
    def exit_code(self) -> int:
        """Return the process exit code for this error."""
        return EXIT_CODES[self.kind]


class UsageError(SkillsRuntimeError):
    """The request cannot be carried out as stated."""

    kind = "validation"


class ValidationFailed(UsageError):
    """A value is not acceptable."""


class ConfigError(UsageError):
    """The configuration cannot be used."""

    kind = "config_error"


class NotFound(UsageError):
    """The named thing does not exist."""

    kind = "not_found"


class AccessRefused(UsageError):
    """The operating system refused access."""

    kind = "permission"


class RunExists(UsageError):
    """A run already exists in this directory; runs are never overwritten."""

    kind = "run_exists"
    default_hint = "choose another directory or id; `skills-runtime runs show` tells what is there"


class IllegalTransition(UsageError):
    """The run cannot move from its state to the requested one."""

    kind = "illegal_transition"


class ApprovalStale(UsageError):
    """A decision is about a request that is no longer open or has changed."""

    kind = "approval_stale"
    default_hint = "look at what is asked now: `skills-runtime approvals list`"


class RequestConflict(UsageError):
    """A request has the key of an earlier, different one."""

    kind = "conflict"


class Busy(SkillsRuntimeError):
    """Too much is in progress already."""

    kind = "busy"
    default_hint = "try again in a moment"


class PolicyDenied(SkillsRuntimeError):
    """A rule denied the request."""

    kind = "permission"


class PathEscape(PolicyDenied):
    """A path leads out of the directories that the run may touch."""

    kind = "path_escape"


class WriteRefused(PolicyDenied):
    """The path exists but may not be written by a tool."""

    kind = "write_refused"
    default_hint = "write below `workspace/` or `deliverables/`"


class DeleteDisabled(PolicyDenied):
    """Deleting is off, as it is by default."""

    kind = "delete_disabled"
    default_hint = "set `sandbox.delete: allow` in your own configuration to enable it"


class ApprovalDenied(PolicyDenied):
    """An approver denied the call, or there was none."""

    kind = "approval_denied"


class ToolError(SkillsRuntimeError):
    """A tool failed in a way the model can react to."""

    def __init__(self, kind: str, message: str, *, hint: str = "", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, hint=hint, details=details)
        self.kind = kind


class ModelError(SkillsRuntimeError):
    """The model or its provider failed."""

    kind = "llm_error"

    def __init__(
        self,
        message: str,
        *,
        kind: str = "llm_error",
        retryable: bool = False,
        retry_after_sec: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.retryable = retryable
        self.retry_after_sec = retry_after_sec


class SandboxError(SkillsRuntimeError):
    """The required isolation is not available."""

    kind = "sandbox_denied"


class LogError(SkillsRuntimeError):
    """The event log cannot be used as requested."""

    kind = "log_corrupt"


class LogCorrupt(LogError):
    """A line in the middle of the log was changed."""

    default_hint = "`skills-runtime runs verify` names the line; restore the file from a copy"


class LogLocked(LogError):
    """Another process is writing this run."""

    kind = "log_locked"
    default_hint = "wait for it to end, or stop it first"


class LogTooNew(LogError):
    """The log was written by a newer version."""

    kind = "log_too_new"
    default_hint = "upgrade skills-runtime to read this run"


class LogEnded(LogError):
    """Nothing may follow a terminal event."""

    kind = "log_ended"
    default_hint = "start a new run or fork this one"


class KeyMissing(LogError):
    """The key that signed this log is not on this machine."""

    kind = "key_missing"
    default_hint = "use `--adopt` to continue the run under this machine's key; that is recorded"


class StorageFailed(LogError):
    """The disk refused a write; what was acknowledged before is safe."""

    kind = "storage_error"
    default_hint = "free some space or fix the disk, then resume the run"
