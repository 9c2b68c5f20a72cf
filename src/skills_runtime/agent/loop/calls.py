"""Settle the tool calls of an answer: decide, run, record the result; each step is durable before the next.

Also makes the calls for mentioned skills that get a run of their own. They are ordinary calls: policy, sub-agents and
recovery apply to them as well.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import count, islice
from typing import Any, cast

import msgspec

from skills_runtime.agent.loop.call_context import CallContext
from skills_runtime.agent.loop.control import wait_uncancelled
from skills_runtime.agent.loop.human import ask
from skills_runtime.agent.loop.model_call import arguments_of, read_arguments
from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.errors import (
    ApprovalDenied,
    ConfigError,
    LogError,
    PolicyDenied,
    SandboxError,
    SkillsRuntimeError,
    ToolError,
    UsageError,
)
from skills_runtime.events import LlmResponseFinished, ToolCallFinished, ToolCallRequested, ToolCallStarted
from skills_runtime.ports import Choice, Parked, Question, Recovery, Tool, ToolResult, VerifyingTool
from skills_runtime.projections import Call
from skills_runtime.runs import Run
from skills_runtime.safety import Assessment, InvalidDecision, conceal, sanitize
from skills_runtime.safety.policy import Ask
from skills_runtime.tools import Registry, capture_errors, error_result, failure_result, invoke

ACTIVATE = "activate_skill"
"""The tool that activates a skill."""
MAX_PARALLEL_CALLS = 16
"""Maximum number of calls of one answer that run at the same time."""
MAX_SHOWN_ARGUMENTS = 2000
ANSWER_REPEAT, ANSWER_HAPPENED = "it did not happen: do it again", "it happened"
UNKNOWN_OUTCOME = failure_result("unknown", "outcome unknown: the runtime stopped during this call")
CANCELLED_ITSELF = failure_result("unknown", "outcome unknown: the call cancelled itself")


_SKILL_TOOLS = (ACTIVATE, "skill_exec", "read_skill_file")
_NO_SKILLS = "no skill is active in this run, and none is offered; the user can name one in the task (`skills list`)"


def missing_tool_result(name: str) -> ToolResult:
    """Return the result of calling a tool that the run does not have."""
    reason = f": {_NO_SKILLS}" if name in _SKILL_TOOLS else ""
    return failure_result("not_found", f"there is no tool named `{name}`{reason}")


class Settled(msgspec.Struct, frozen=True):
    """Result of a call, the fields to hide, and whether it must be committed at once."""

    result: ToolResult
    hidden: tuple[str, ...] = ()
    commit: bool = False


def parallel_calls(calls: Sequence[Call], tools: Registry) -> Sequence[Call]:
    """Return the leading calls that may run in parallel, which are those that only read; any other call runs alone."""
    reading = 0
    for call in calls[:MAX_PARALLEL_CALLS]:
        tool = tools.find(call.tool)
        if tool is None or tool.spec.effect != "read":
            break
        reading += 1
    return calls[: max(1, reading)]


async def assess_calls(
    run: Run, batch: Sequence[Call], later: Sequence[Call], ports: AgentPorts, answerable: set[str]
) -> Mapping[str, Assessment]:
    """Without an approver, raise before any call runs if one of them would need an approval.

    Return the assessments of the `batch` that runs now, by call id. Those of `later` calls are discarded, because the
    batch may change what they would do; `answerable` collects the calls that were checked.
    """
    assessed: dict[str, Assessment] = {}
    unknown = [call for call in later if call.id not in answerable]
    for call in (*batch, *unknown) if ports.gate.approver is None else ():
        tool = ports.tools.find(call.tool)
        if tool is None or not call.valid or call.phase != "requested":
            continue
        context = CallContext(run, call, ports)
        try:
            assessment = await ports.gate.assess(tool, read_arguments(context.proposed_arguments()), context)
        except (ToolError, UsageError, PolicyDenied, SandboxError):
            continue  # the call will fail by itself, without an approval request
        if isinstance(assessment.decision, Ask):
            raise ConfigError(
                f"`{call.tool}` needs an approval ({assessment.decision.rule}) and no approver is available",
                hint="give the agent an approver (`approval_provider=` in Python, a terminal for the command line),"
                " let the run wait for a decision (`--approvals inbox`), or allow the call with a rule",
            )
        assessed[call.id] = assessment
    answerable.update(call.id for call in later)
    return assessed


async def settle_calls(
    run: Run, calls: Sequence[Call], ports: AgentPorts, assessed: Mapping[str, Assessment]
) -> Call | None:
    """Run calls that may run in parallel to completion; return the first that has to wait for a user.

    Results are recorded in the order of the calls.
    """
    limits = {call.tool: _limit(ports.tools.find(call.tool)) for call in calls}

    async def settle(call: Call) -> Settled:
        async with limits[call.tool] or nullcontext():
            return await _settle(run, call, ports, assessed.get(call.id))

    tasks = [asyncio.create_task(settle(call), name=f"call {call.id}") for call in calls]
    waiting: Call | None = None
    try:
        for call, task in zip(calls, tasks, strict=True):
            # Awaiting the task itself would cancel it whenever we are cancelled.
            await _wait(task)
            try:
                settled = task.result()
            except Parked:
                waiting = waiting or call
                continue
            except asyncio.CancelledError:
                if ports.control.stopping:
                    raise
                # The call cancelled itself; the run continues.
                settled = Settled(CANCELLED_ITSELF, commit=True)
            _finish(run, call, settled)
    finally:
        for task in tasks:
            task.cancel()
        await wait_uncancelled(tasks)
    return waiting


def _limit(tool: Tool | None) -> asyncio.Semaphore | None:
    count = tool.spec.max_parallel if tool is not None else None
    return asyncio.Semaphore(count) if count else None


async def _wait(task: asyncio.Task[Settled]) -> None:
    """Wait until a task is done; like `asyncio.wait`, which costs more than a small call."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(_: asyncio.Task[Settled]) -> None:
        if not future.done():
            future.set_result(None)

    task.add_done_callback(wake)
    await future


async def _settle(run: Run, call: Call, ports: AgentPorts, assessed: Assessment | None) -> Settled:
    tool = ports.tools.find(call.tool)
    if tool is None:
        # The run had the tool when the call started.
        if call.phase == "started" and call.effect != "read":
            return Settled(UNKNOWN_OUTCOME, commit=True)
        return Settled(missing_tool_result(call.tool))
    if not call.valid:
        raw_arguments = arguments_of(call, run.blobs.get)[:MAX_SHOWN_ARGUMENTS]
        return Settled(
            failure_result("validation", f"the arguments are not a JSON object: {raw_arguments}"), hidden=("stderr",)
        )
    context = CallContext(run, call, ports)
    if call.phase == "started":
        recovered = await _recover(tool, read_arguments(context.arguments()), context)
        if recovered is not None:
            return Settled(recovered, tool.spec.hidden_results, commit=True)
    # Also for repeated calls: the approved content may have changed since.
    refusal = await _admit(tool, context, assessed)
    if refusal is not None:
        return Settled(refusal)
    arguments = context.arguments()
    await _start(context, tool, arguments)
    result = await invoke(tool, read_arguments(arguments), context, clock=run.ports.clock)
    if context.edited_blob:  # tell the model what was really executed
        edited_arguments = sanitize(tool.spec, read_arguments(context.arguments()))
        data = {**(result.data or {}), "arguments_changed_by_approver": edited_arguments}
        result = msgspec.structs.replace(result, data=data)
    return Settled(result, tool.spec.hidden_results, commit=tool.spec.effect != "read")


async def _admit(tool: Tool, context: CallContext, assessed: Assessment | None) -> ToolResult | None:
    """Return the result of a call that is refused or fails its checks; `None` if it may run."""
    gate, arguments = context.ports.gate, read_arguments(context.proposed_arguments())
    try:
        # Stop the clock while the approver decides; without an approver there is nothing to wait for.
        with context.ports.control.waiting() if gate.approver is not None else nullcontext():
            refusal = await gate.admit(tool, arguments, context, assessed)
    except (LogError, ApprovalDenied, InvalidDecision):
        raise
    except SkillsRuntimeError as error:
        return error_result(error)
    return failure_result("permission", refusal) if refusal is not None else None


async def _start(context: CallContext, tool: Tool, arguments: bytes) -> None:
    """Record that the call starts; an effect begins only after that is durable."""
    run, call = context.run, context.call
    run.append(
        ToolCallStarted(
            call_id=call.id,
            tool=call.tool,
            effect=tool.spec.effect,
            arguments_sha256=hashlib.sha256(arguments).hexdigest(),
            idempotency_key=context.idempotency_key,
        ),
        step_id=call.step_id,
    )
    if tool.spec.effect != "read":
        await run.commit_async()


def _finish(run: Run, call: Call, settled: Settled) -> None:
    exact = msgspec.to_builtins(settled.result)
    visible = conceal(exact, settled.hidden)
    data = msgspec.json.encode(exact) if visible != exact else None
    run.append(
        ToolCallFinished(
            call_id=call.id,
            tool=call.tool,
            result=visible,
            result_blob=run.put_blob(data) if data is not None else None,
            size=len(data) if data is not None else None,
        ),
        step_id=call.step_id,
    )
    if settled.commit:
        # Not awaited: the model is asked while the disk syncs. Without this result, a resumed run would only say
        # "outcome unknown", as it would had the power failed a moment earlier.
        run.log.commit_soon()


async def _recover(tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> ToolResult | None:
    """Return the result of a call that was interrupted by a crash, or `None` if it may be repeated."""
    call = context.call
    default: Recovery = "ask_human" if call.effect == "effectful" else "retry"
    match tool.spec.recovery or default:
        case "retry":
            return None
        case "verify":
            unverified = f"{UNKNOWN_OUTCOME.stderr}, and verifying it failed: "
            verify = cast("VerifyingTool", tool).verify(arguments, context)
            return await capture_errors(verify, lambda problem: unverified + problem)
        case "fail":
            raise ToolError("unknown", f"the runtime stopped while `{call.tool}` was running")
        case "ask_human" if context.ports.human is None and not context.run.view.pending.has_question(call.id):
            return UNKNOWN_OUTCOME
        case "ask_human":
            return await _ask_what_happened(context)


async def _ask_what_happened(context: CallContext) -> ToolResult | None:
    question = Question(
        question=f"The runtime stopped while `{context.call.tool}` was running. Did it happen?",
        choices=(Choice(ANSWER_HAPPENED), Choice(ANSWER_REPEAT), Choice("I do not know")),
    )
    try:
        answers = await ask(context.run, context.ports, context.call, [question])
    except TimeoutError:  # no answer in time counts as unknown
        return UNKNOWN_OUTCOME
    answer = answers.get(question.id, "")
    if answer == ANSWER_REPEAT:
        return None
    return (
        ToolResult(ok=True, stdout="the user confirmed that it happened")
        if answer == ANSWER_HAPPENED
        else UNKNOWN_OUTCOME
    )


def call_skills(run: Run) -> None:
    """Record the calls for skills with runs of their own as one answer; idempotent after a crash."""
    conversation = run.view.conversation
    free = (name for number in count(1) if (name := f"skill_{number}") not in conversation.call_ids)
    ids = list(islice(free, len(conversation.skills_to_call)))
    recorded = {call.id for call in conversation.partial_calls}
    for call_id, skill in zip(ids, conversation.skills_to_call, strict=True):
        if call_id not in recorded:
            arguments = {"name": skill.mention, "arguments": skill.arguments}
            called = ToolCallRequested(call_id=call_id, tool=ACTIVATE, name=ACTIVATE, arguments=arguments)
            run.append(called, step_id=f"step_{run.state.steps + 1}")
    run.append(LlmResponseFinished(finish_reason="tool_calls", calls=ids))
