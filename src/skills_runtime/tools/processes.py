"""Shared code of the process tools: arguments, plans, claims, and the result of a finished command.

Sandbox denials become text plus the arguments that would allow the call; network decisions become events.
"""

import asyncio
import errno
import os
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

import msgspec
from msgspec import Meta

from skills_runtime.errors import ApprovalDenied, LogError, NotFound, ToolError
from skills_runtime.events import NetworkDecision
from skills_runtime.ports import (
    Grant,
    Intent,
    LimitName,
    ProcessRequest,
    Quarantined,
    RaisedLimit,
    SandboxPermissions,
    SandboxPlan,
    ToolContext,
    ToolResult,
)
from skills_runtime.processes import (
    COMMAND,
    Captured,
    Finished,
    Limits,
    claim_workspace,
    execute_plan,
    hold_claim,
    is_claim_held,
)
from skills_runtime.runs.files import escape_path, path_error
from skills_runtime.storage import DIRECTORY, open_root, select_opener
from skills_runtime.tools.arguments import Arguments, parse

if TYPE_CHECKING:
    from skills_runtime.ports import Sandbox
    from skills_runtime.sandbox import Denial, ProcessOutcome
    from skills_runtime.sandbox.egress import EgressCallbacks, EgressRecord, EgressUsage, Gateway
    from skills_runtime.storage import Claim, ClaimKind


@runtime_checkable
class DenialExplainer(Protocol):
    """A sandbox that can name what it denied."""

    def denials(self, outcome: "ProcessOutcome", grant: "Grant | None" = None) -> "tuple[Denial, ...]":
        """Return what the sandbox denied to a finished command that ran with this grant."""
        ...


class RequestedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command that the call requested."""

    argv: tuple[str, ...]
    cwd: Path
    grant: "Grant | None" = None


def explain_denials(
    result: ToolResult, finished: "Finished", requested: RequestedCommand, sandbox: "Sandbox", *, grantable: bool = True
) -> ToolResult:
    """Mark the result of a failed command as `sandbox_denied` where the sandbox is a likely cause.

    A grant is suggested only if the same call could be made with it.
    """
    if result.ok or result.error_kind == "timeout" or not isinstance(sandbox, DenialExplainer):
        return result
    from skills_runtime.sandbox import ProcessOutcome, combine_grants

    outcome = ProcessOutcome(
        cwd=requested.cwd,
        argv=requested.argv,
        exit_code=finished.exit_code,
        signal=finished.signal,
        stdout=finished.stdout.text(),
        stderr=finished.stderr.text(),
        exceeded=finished.exceeded,
        counted=finished.counted,
    )
    denials = sandbox.denials(outcome, requested.grant)
    if not denials:
        return result
    if not grantable:
        denials = tuple(msgspec.structs.replace(denial, grant=None) for denial in denials)
    grant = combine_grants(denial.grant for denial in denials if denial.grant is not None)
    facts: dict[str, Any] = {
        "denials": [
            {"what": denial.what, "target": denial.target, "certainty": denial.certainty, "sentence": denial.sentence}
            | ({"grant": grant_arguments(denial.grant)} if denial.grant else {})
            for denial in denials
        ]
    }
    advice = ""
    if grant:
        facts["grant"] = grant_arguments(combine_grants([*([requested.grant] if requested.grant else []), grant]))
        advice = f" To {grant}, call again with the `grant` of this result; the user is asked."
    note = f"[the sandbox: {' '.join(denial.sentence for denial in denials)}{advice}]"
    return msgspec.structs.replace(
        result,
        stderr=f"{result.stderr.rstrip()}\n{note}".lstrip(),
        error_kind="sandbox_denied",
        data={**(result.data or {}), **facts},
    )


def grant_arguments(grant: "Grant") -> "Mapping[str, Any]":
    """Convert a grant to the arguments of a call."""
    plain: dict[str, Any] = msgspec.to_builtins(grant)
    if grant.limits:
        plain["limits"] = {limit.name: limit.value for limit in grant.limits}
    return plain


class CommandNetwork:
    """Network of one command, if it gets one; without a context, decisions wait until they are drained."""

    def __init__(self, context: ToolContext | None = None) -> None:
        self._context = context
        self._account: EgressUsage | None = None
        self._pending: deque[EgressRecord] = deque()
        self._gateway: Gateway | None = None
        self.session_id: int | None = None

    @property
    def run_suffix(self) -> str:
        """The run it belongs to, as a suffix for a name."""
        return f" of run `{self._context.run_id}`" if self._context is not None else ""

    def attach(self, session_id: int, gateway: "Gateway | None") -> None:
        """Attach the network to a session."""
        self.session_id, self._gateway = session_id, gateway

    @property
    def stop_error(self) -> Exception | None:
        """The error that must stop the run: its log is full, or an approver stopped it."""
        failure = self._gateway.failure if self._gateway is not None else None
        return failure if isinstance(failure, LogError | ApprovalDenied) else None

    def egress_callbacks(self) -> "EgressCallbacks":
        """Create the callbacks that record every decision and ask about hosts without a rule."""
        from skills_runtime.sandbox.egress import EgressCallbacks, EgressUsage

        self._account = EgressUsage()
        return EgressCallbacks(record=self._record, ask=self._context.may_reach if self._context is not None else None)

    def merge_evidence(self, evidence: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add the network summary to the sandbox evidence."""
        return evidence if self._account is None else {**evidence, "network": self._account.summary()}

    def drain_records(self) -> "Iterator[EgressRecord]":
        """Yield the pending decisions, each once."""
        while self._pending:
            yield self._pending.popleft()

    def _record(self, record: "EgressRecord") -> None:
        if self._account is not None:
            self._account.add(record)
        if self._context is None:
            self._pending.append(record)
        else:
            emit_decision(record, self._context, self.session_id)


def emit_decision(record: "EgressRecord", context: ToolContext, session_id: int | None = None) -> None:
    """Record one decision as an event of a call."""
    context.emit(
        NetworkDecision(
            call_id=context.call_id,
            number=record.number,
            stage=record.stage,
            verdict=record.verdict,
            host=record.host,
            port=record.port,
            protocol=record.protocol,
            by=record.by,
            reason=record.reason,
            kind=record.kind,
            rule=record.rule,
            address=record.address,
            bytes_up=record.bytes_up,
            bytes_down=record.bytes_down,
            session_id=session_id,
        )
    )


# Between SIGTERM and SIGKILL: a cancelled run is gone within a second.
GRACE_SECONDS = 0.5
MAX_OUTPUT_BYTES = 16 << 20
"""Limit for each stream; a longer one loses its middle and says so."""
DEFAULT_TIMEOUT_MS = 60_000
MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000
MAX_ARGUMENTS = 100_000
DIED_OF_SIGNAL = 128
"""Added to the number of a signal, as shells do."""

Argv = Annotated[list[str], Meta(min_length=1, max_length=MAX_ARGUMENTS, description="The program and its arguments.")]
Directory = Annotated[str, Meta(min_length=1, description="The directory to start in; default: the working directory.")]
Variables = Annotated[dict[str, str], Meta(description="Additional environment variables.")]
TimeoutMs = Annotated[
    int, Meta(ge=1, le=MAX_TIMEOUT_MS, description="Time limit in milliseconds, for all processes that it starts.")
]
SandboxMode = Annotated[
    Literal["inherit", "restricted"], Meta(description="`restricted` requires a sandbox even if the default has none.")
]
Permissions = Annotated[
    SandboxPermissions, Meta(description="`require_escalated` asks the user for more than the sandbox allows.")
]
MorePaths = Annotated[list[str], Meta(max_length=50, description="Absolute paths.")]


class GrantArguments(Arguments, frozen=True, kw_only=True):
    """Rights beyond those of the sandbox."""

    writable: MorePaths | None = None
    readable: MorePaths | None = None
    hosts: (
        Annotated[list[str], Meta(max_length=50, description="Hosts with their ports: `example.com:443`.")] | None
    ) = None
    limits: Annotated[dict[LimitName, int], Meta(description="Limits and their higher values.")] | None = None

    def grant(self) -> Grant:
        """Build the grant that these arguments request."""
        return Grant(
            writable=tuple(self.writable or ()),
            readable=tuple(self.readable or ()),
            hosts=tuple(self.hosts or ()),
            limits=tuple(RaisedLimit(name, value) for name, value in (self.limits or {}).items()),
        )


GrantRequest = Annotated[
    GrantArguments,
    Meta(description="Rights to add to the sandbox, as named in the result of a denied call; the user is asked."),
]
Justification = Annotated[str, Meta(max_length=2000, description="Why it is needed; shown to the approver.")]


class CommandSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A command as a call requests it."""

    argv: tuple[str, ...]
    line: str | None = None
    """The shell line that the command runs."""
    directory: str | None = None
    environment: Mapping[str, str] = {}
    sandbox: Literal["inherit", "restricted"] | None = None
    permissions: SandboxPermissions | None = None
    justification: str = ""
    terminal: bool = False
    readable: tuple[Path, ...] = ()
    """Directories it reads besides the workspace."""
    code: tuple[Path, ...] = ()
    """Directories of code that it runs and that are approved as a whole, such as that of a skill."""
    grant: Grant | None = None


class CommandArguments(Arguments, frozen=True, kw_only=True):
    """Arguments of every tool that starts a program."""

    sandbox: SandboxMode | None = None
    sandbox_permissions: Permissions | None = None
    grant: GrantRequest | None = None
    justification: Justification | None = None

    def command_spec(self) -> CommandSpec:
        """Build the command that these arguments request."""
        raise NotImplementedError


class ProgramArguments(CommandArguments, frozen=True, kw_only=True):
    """Arguments of every tool that runs a program to its end."""

    env: Variables | None = None
    timeout_ms: TimeoutMs = DEFAULT_TIMEOUT_MS

    def program(self, argv: tuple[str, ...], directory: str | None, line: str | None = None) -> CommandSpec:
        """Build the command that runs a program with these arguments."""
        return CommandSpec(
            argv=argv,
            line=line,
            directory=directory,
            environment=self.env or {},
            sandbox=self.sandbox,
            permissions=self.sandbox_permissions,
            grant=self.grant.grant() if self.grant else None,
            justification=self.justification or "",
        )


ArgumentsT = TypeVar("ArgumentsT", bound=CommandArguments)


class CommandTool(Generic[ArgumentsT]):
    """A tool that starts a program and can say in advance which one."""

    arguments: type[ArgumentsT]

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the command."""
        return build_intent(parse(arguments, self.arguments).command_spec())

    async def preview(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return the command, the scripts it names and its sandbox."""
        command = parse(arguments, self.arguments).command_spec()
        return await preview_command(command, context)


ProgramArgumentsT = TypeVar("ProgramArgumentsT", bound=ProgramArguments)


class ProgramTool(CommandTool[ProgramArgumentsT]):
    """A tool that runs a program to its end."""

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Run the program."""
        args = parse(arguments, self.arguments)
        return await run_to_end(args.command_spec(), context, timeout_ms=args.timeout_ms)


def build_intent(command: CommandSpec) -> Intent:
    """Describe a command for the policy."""
    return Intent(
        line=command.line,
        argv=command.argv if command.line is None else (),
        directory=command.directory or ".",
        environment=command.environment,
        escalated=command.permissions == "require_escalated" or bool(command.grant),
        justification=command.justification,
    )


async def preview_command(command: CommandSpec, context: ToolContext) -> Intent:
    """Describe a command with its scripts and its sandbox; raise now if it could not start."""
    plan, intent = plan_command(command, context), build_intent(command)
    digests = await _digest_scripts(command, context)
    if not is_claim_held():
        claim = await _claim(command, plan, digests, context)
        if claim is not None:
            claim.release()
    return msgspec.structs.replace(intent, fence=plan.to_dict(), digests=digests)


async def _digest_scripts(command: CommandSpec, context: ToolContext) -> Mapping[str, str]:
    # Loads the tables of known programs.
    from skills_runtime.tools.scripts import digest_scripts

    start = resolve_directory(context.root, command.directory or ".")
    return await asyncio.to_thread(digest_scripts, build_intent(command), start)


async def claim_exclusively(
    command: CommandSpec, plan: SandboxPlan, context: ToolContext, *, lasting: bool = False
) -> "Claim | None":
    """Claim the workspace for a command with more rights than sandboxed ones; return None for any other.

    No sandboxed process runs from here on until the claim is released. Only then is the approved content compared
    with the files: raises if they differ.
    """
    if claim_kind(command, plan) is None:
        return None
    claim = await _claim(command, plan, await _digest_scripts(command, context), context, lasting=lasting)
    assert claim is not None
    try:
        with hold_claim(claim):
            await context.confirm()
    except BaseException:
        claim.release()
        raise
    return claim


def claim_kind(command: CommandSpec, plan: SandboxPlan) -> "ClaimKind | None":
    """Return the claim that a command needs before it starts; None for one with the usual sandbox rights."""
    if command.permissions == "require_escalated":
        return "outside"
    access = plan.file_access
    if access is None:
        return None
    code = [path.resolve() for path in command.code]
    exposed = [
        path
        for path in code
        if any(path.is_relative_to(root) for root in access.writable)
        and not any(path.is_relative_to(root) for root in access.protected)
    ]
    return "widened" if command.grant or exposed else None


async def _claim(
    command: CommandSpec, plan: SandboxPlan, digests: Mapping[str, str], context: ToolContext, *, lasting: bool = False
) -> "Claim | None":
    kind = claim_kind(command, plan)
    if kind is None:
        return None
    start = resolve_directory(context.root, command.directory or ".")
    writable = plan.file_access.writable if plan.file_access is not None else ()
    return await claim_workspace(
        kind,
        "a session" if lasting else COMMAND,
        workspace=context.root,
        paths=(context.root, *writable),
        files=(*(start / name for name in digests), *command.code),
        lasting=lasting,
    )


async def run_to_end(command: CommandSpec, context: ToolContext, *, timeout_ms: int) -> ToolResult:
    """Run a command until all its processes are gone; a cancelled call ends it, too."""
    plan = plan_command(command, context)
    limits = Limits(wall_seconds=timeout_ms / 1000, output_bytes=MAX_OUTPUT_BYTES, grace_seconds=GRACE_SECONDS)
    network = CommandNetwork(context)
    async with exclusive_claim(command, plan, context):
        finished = await execute_plan(plan, limits, network.egress_callbacks)
    result = _result(finished, network.merge_evidence(plan.evidence), timeout_ms)
    requested = RequestedCommand(
        argv=command.argv, cwd=resolve_directory(context.root, command.directory or "."), grant=command.grant
    )
    result = await asyncio.to_thread(explain_denials, result, finished, requested, context.sandbox)
    return note_quarantined(result, finished.quarantined, context.run_id)


def note_quarantined(result: ToolResult, quarantined: Sequence[Quarantined], run_id: str) -> ToolResult:
    """Add a note on the files that were quarantined after the command."""
    if not quarantined:
        return result
    from skills_runtime.sandbox import quarantine_report

    report, data = quarantine_report(quarantined), dict(result.data or {})
    evidence = data.get("sandbox", {})
    data["sandbox"] = {**evidence, "quarantined": [*evidence.get("quarantined", ()), *report]}
    moved = ", ".join(f"`{entry['path']}`" for entry in report if "problem" not in entry)
    failed = "; ".join(
        f"`{entry['path']}` could not be checked or moved: {entry['problem']}" for entry in report if "problem" in entry
    )
    sentences = [failed] if failed else []
    if moved:
        sentences.append(
            f"new files that programs outside the sandbox would obey were moved aside: {moved}. They stay out of the"
            f" workspace unless the user accepts them with `skills-runtime runs accept {run_id}`."
        )
    note = f"[the sandbox: {' '.join(sentences)}]"
    return msgspec.structs.replace(result, stderr=f"{result.stderr.rstrip()}\n{note}".lstrip(), data=data)


@asynccontextmanager
async def exclusive_claim(command: CommandSpec, plan: SandboxPlan, context: ToolContext) -> AsyncGenerator[None]:
    """Hold the claim that the command needs, if it needs one."""
    claim = await claim_exclusively(command, plan, context)
    if claim is None:
        yield
        return
    try:
        with hold_claim(claim):
            yield
    finally:
        claim.release()


def plan_command(command: CommandSpec, context: ToolContext) -> SandboxPlan:
    """Plan the command in the sandbox of the run; raises if the sandbox refuses."""
    return context.sandbox.plan(
        ProcessRequest(
            argv=command.argv,
            cwd=resolve_directory(context.root, command.directory or "."),
            environment=command.environment,
            permissions=_permissions(command),
            terminal=command.terminal,
            readable=command.readable,
            grant=command.grant,
        )
    )


def resolve_directory(root: Path, path: str) -> Path:
    """Resolve a directory; links are followed as long as they stay below the root."""
    if "\0" in path:
        raise ToolError("validation", "the directory has a NUL byte in its name", hint="remove it")
    top = root.resolve()
    relative = Path(path)
    if relative.is_absolute():
        base = next((base for base in (root, top) if relative.is_relative_to(base)), None)
        if base is None:
            raise _outside(path)
        relative = relative.relative_to(base)
    try:
        descriptor = open_root(top)
        try:
            opened = select_opener()(descriptor, relative.parts, DIRECTORY, 0)
            os.close(opened.fd)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise _outside(path) from error
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            message = f"there is no directory `{escape_path(path)}`"
            raise NotFound(message, hint="list the directory above it") from error
        raise path_error(error, path) from error
    return top.joinpath(*opened.parts)


def exit_status(exit_code: int | None, signal: int | None) -> tuple[int | None, str | None]:
    """Return the exit code as a shell would report it, and the error kind."""
    code = DIED_OF_SIGNAL + signal if exit_code is None and signal is not None else exit_code
    return code, "exit_code" if code else None


def process_facts(evidence: Mapping[str, Any], **facts: Any) -> dict[str, Any]:
    """Build the data of a result: empty facts are left out, the sandbox evidence never."""
    return {"sandbox": dict(evidence)} | {name: value for name, value in facts.items() if value}


def count_left_out(**streams: Captured) -> dict[str, int]:
    """Return how many bytes of each stream were dropped; complete streams are not listed."""
    return {name: stream.left_out for name, stream in streams.items() if stream.left_out}


def _outside(path: str) -> ToolError:
    return ToolError(
        "validation",
        f"the directory `{escape_path(path)}` is outside the working directory",
        hint="use one that is inside",
    )


def _permissions(command: CommandSpec) -> SandboxPermissions:
    """Return the sandbox permissions of the call, or raise if its arguments contradict each other."""
    if command.sandbox == "restricted" and command.permissions == "require_escalated":
        raise ToolError(
            "validation",
            "`sandbox: restricted` and `sandbox_permissions: require_escalated` contradict each other",
            hint="leave out one of them",
        )
    if command.grant and command.permissions == "require_escalated":
        raise ToolError(
            "validation",
            "a call that leaves the sandbox needs no `grant`",
            hint="leave out `sandbox_permissions` to ask for less",
        )
    return "restricted" if command.sandbox == "restricted" else command.permissions or "inherit"


def _result(finished: Finished, evidence: Mapping[str, Any], timeout_ms: int) -> ToolResult:
    timed_out = finished.ended_by == "timeout"
    code, kind = exit_status(finished.exit_code, finished.signal)
    stderr = finished.stderr.text()
    if timed_out:
        note = f"[ended after {timeout_ms} ms with all its processes; raise `timeout_ms` if it needs longer]"
        stderr = f"{stderr.rstrip()}\n{note}".lstrip()
    # It may have succeeded, but some of its files are gone.
    if finished.removed is not None:
        evidence, kind = {**evidence, "removed": finished.removed}, kind or "sandbox_denied"
        note = f"[files beyond its disk limit were removed: {finished.removed['files']} files]"
        stderr = f"{stderr.rstrip()}\n{note}".lstrip()
    return ToolResult(
        ok=not timed_out and kind is None,
        stdout=finished.stdout.text(),
        stderr=stderr,
        exit_code=code,
        truncated=bool(finished.stdout.left_out or finished.stderr.left_out),
        error_kind="timeout" if timed_out else kind,
        data=process_facts(
            evidence,
            signal=finished.signal,
            left_out=count_left_out(stdout=finished.stdout, stderr=finished.stderr),
            exceeded=finished.exceeded,
            survivors=list(finished.survivors),
        ),
    )
