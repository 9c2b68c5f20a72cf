"""Settling the calls of one answer: gate, effect, result; each step durable before the next."""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec

from skills_runtime.agent.answer import read_arguments
from skills_runtime.agent.ports import AgentPorts
from skills_runtime.agent.prompt import arguments_of
from skills_runtime.errors import ApprovalDenied, ConfigError, LogError, SkillsRuntimeError, ToolError
from skills_runtime.events import Payload
from skills_runtime.events.payloads import ApprovalDecided, ApprovalRequested, ToolCallFinished, ToolCallStarted
from skills_runtime.ports import ApprovalRequest, Approver, DecisionKind, Files, Tool, ToolResult
from skills_runtime.projections import Call
from skills_runtime.runs import Run
from skills_runtime.safety import Allow, Ask, Deny, approval_key, decide, sanitize
from skills_runtime.safety.sanitize import conceal, well_formed
from skills_runtime.tools import Registry

MAX_TOGETHER = 16
"""Calls of one answer that run at the same time."""
APPROVALS = frozenset({"approved", "approved_for_session"})


class CallContext(msgspec.Struct, frozen=True):
    """What a tool may use while it runs one call."""

    run: Run
    call_id: str
    files: Files

    def emit(self, payload: Payload) -> None:
        """Record an event on behalf of the call."""
        self.run.append(payload)


def refuse_unanswerable(calls: Iterable[Call], ports: AgentPorts) -> None:
    """Raise before anything runs when one of these calls would have to be asked about and nobody is there."""
    for call in calls:
        tool = ports.tools.find(call.tool)
        if tool is not None and call.valid and ports.approver is None and isinstance(_rule(tool, ports), Ask):
            raise ConfigError(
                f"`{tool.spec.name}` needs an approval and nobody can give one",
                hint="set `safety.mode: allow` in your own configuration, or give the agent an approval provider",
            )


async def settle(run: Run, calls: Sequence[Call], ports: AgentPorts) -> None:
    """Bring calls that may run side by side to their end; their results are recorded in the order of the calls."""
    work = [asyncio.create_task(_settle(run, call, ports), name=f"call {call.id}") for call in calls]
    try:
        for call, task in zip(calls, work, strict=True):
            done = await task
            _finish(run, call, done.result, hidden=done.hidden)
            if done.commit:
                await run.commit_async()
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)  # returns only when every call has let go


def side_by_side(calls: Sequence[Call], tools: Registry) -> Iterator[Sequence[Call]]:
    """The calls in groups: those that only read may run together, any other runs alone and in its turn."""
    group: list[Call] = []
    for call in calls:
        tool = tools.find(call.tool)
        if tool is not None and tool.spec.effect == "read" and len(group) < MAX_TOGETHER:
            group.append(call)
            continue
        if group:
            yield group
        group = [call] if tool is not None and tool.spec.effect == "read" else []
        if not group:
            yield [call]
    if group:
        yield group


class _Settled(msgspec.Struct, frozen=True):
    """The result of a call, what of it may not be shown, and whether it must be durable at once."""

    result: ToolResult
    hidden: tuple[str, ...] = ()
    commit: bool = False


async def _settle(run: Run, call: Call, ports: AgentPorts) -> _Settled:
    tool = ports.tools.find(call.tool)
    if tool is None:
        return _Settled(_refused("not_found", f"there is no tool named `{call.tool}`"))
    if not call.valid:
        return _Settled(_refused("validation", "the arguments are not a JSON object"))
    if call.phase == "started" and not _may_repeat(call, tool):
        return _Settled(_refused("unknown", "outcome unknown: the runtime stopped while this call was under way"))
    return await _execute(run, call, tool, ports)


def _may_repeat(call: Call, tool: Tool) -> bool:
    recovery = tool.spec.recovery or ("ask_human" if call.effect == "effectful" else "retry")
    return recovery == "retry"


async def _execute(run: Run, call: Call, tool: Tool, ports: AgentPorts) -> _Settled:
    text = arguments_of(call, run.blobs.get)
    arguments = read_arguments(text.encode())
    refusal = await _gate(run, call, tool, arguments, ports)
    if refusal is not None:
        return _Settled(refusal)
    digest = hashlib.sha256(text.encode()).hexdigest()
    name = f"{run.state.run_id}\n{call.step_id}\n{call.id}"  # a service may use an id again in a later answer
    run.append(
        ToolCallStarted(
            call_id=call.id,
            tool=call.tool,
            effect=tool.spec.effect,
            arguments_sha256=digest,
            idempotency_key=hashlib.sha256(name.encode()).hexdigest()[:32],
        ),
        step_id=call.step_id,
    )
    effectful = tool.spec.effect != "read"
    if effectful:
        await run.commit_async()
    return _Settled(await _invoke(run, call, tool, arguments, ports), tool.spec.hidden_results, commit=effectful)


async def _invoke(run: Run, call: Call, tool: Tool, arguments: Mapping[str, Any], ports: AgentPorts) -> ToolResult:
    context = CallContext(run, call.id, ports.files.for_call(call.id))
    begun = run.ports.clock.monotonic()
    limit = asyncio.timeout(tool.spec.timeout_sec)
    try:
        async with limit:
            result = _checked(await tool.invoke(arguments, context))
    except LogError:
        raise
    except TimeoutError as error:
        late = f"the call took longer than {tool.spec.timeout_sec} s" if limit.expired() else f"TimeoutError: {error}"
        result = _refused("timeout", late)
    except SkillsRuntimeError as error:
        hint = f" ({error.hint})" if error.hint else ""
        result = _refused(error.kind, f"{error.message}{hint}")
    except Exception as error:  # noqa: BLE001 - the tool boundary: whatever a tool raises, the model is told
        result = _refused("unknown", f"{type(error).__name__}: {error}")
    elapsed = round((run.ports.clock.monotonic() - begun) * 1000)
    return msgspec.structs.replace(result, duration_ms=elapsed)


def _checked(result: ToolResult) -> ToolResult:
    """The result as plain data that the log can hold; anything else is the tool's mistake."""
    if not isinstance(result, ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance] - tools are other people's
        raise ToolError("unknown", f"the tool returned `{type(result).__name__}` instead of a `ToolResult`")
    text = msgspec.structs.replace(result, stdout=well_formed(result.stdout), stderr=well_formed(result.stderr))
    return msgspec.json.decode(msgspec.json.encode(text), type=ToolResult)


async def _gate(run: Run, call: Call, tool: Tool, arguments: Mapping[str, Any], ports: AgentPorts) -> ToolResult | None:
    decision = _rule(tool, ports)
    if isinstance(decision, Deny):
        return _refused("permission", f"denied by {decision.rule}")
    if isinstance(decision, Ask) and ports.approver is not None:
        return await _ask(run, call, tool, arguments, ports, ports.approver)
    return None if isinstance(decision, Allow) else _refused("permission", "nobody can approve this")


def _rule(tool: Tool, ports: AgentPorts) -> Allow | Ask | Deny:
    return decide(
        tool.spec.effect,
        ports.safety_mode,
        tool=tool.spec.name,
        allowed=ports.tool_allowlist,
        denied=ports.tool_denylist,
    )


async def _ask(
    run: Run, call: Call, tool: Tool, arguments: Mapping[str, Any], ports: AgentPorts, approver: Approver
) -> ToolResult | None:
    request = sanitize(tool.spec, arguments)
    key = approval_key(tool.spec.name, request)
    summary = f"{tool.spec.name} {msgspec.json.encode(request).decode()}"[:500]
    run.append(
        ApprovalRequested(approval_key=key, tool=tool.spec.name, call_id=call.id, summary=summary, request=request),
        step_id=call.step_id,
    )
    await run.commit_async()
    # Who decides sees the real arguments; the log keeps what may be shown.
    asked = ApprovalRequest(approval_key=key, tool=tool.spec.name, summary=summary, details=dict(arguments))
    decision, reason = await _decision(approver, asked, ports.approval_timeout_ms)
    run.append(
        ApprovalDecided(approval_key=key, decision=decision, reason=reason, call_id=call.id), step_id=call.step_id
    )
    if decision == "abort":
        raise ApprovalDenied("the approver stopped the run")
    return None if decision in APPROVALS else _refused("permission", f"the approver said: {decision} ({reason})")


async def _decision(approver: Approver, asked: ApprovalRequest, timeout_ms: int | None) -> tuple[str, str]:
    """What was decided and by what; only a clear yes in time is a yes."""
    try:
        async with asyncio.timeout(timeout_ms / 1000 if timeout_ms else None):
            decision: str = await approver.request_approval(request=asked, timeout_ms=timeout_ms)
    except TimeoutError:
        return "denied", "timeout"
    return (decision, "provider") if decision in get_args(DecisionKind) else ("denied", "invalid_decision")


def _finish(run: Run, call: Call, result: ToolResult, *, hidden: tuple[str, ...] = ()) -> None:
    exact = msgspec.to_builtins(result)
    shown = conceal(exact, hidden)
    blob = run.keep(msgspec.json.encode(exact)) if shown != exact else None
    run.append(ToolCallFinished(call_id=call.id, tool=call.tool, result=shown, result_blob=blob), step_id=call.step_id)


def _refused(kind: str, message: str) -> ToolResult:
    return ToolResult(ok=False, error_kind=kind, stderr=well_formed(message))
