"""Settling the calls of one answer: gate, effect, result; each step durable before the next."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import count, islice
from typing import Any, cast

import msgspec

from skills_runtime.agent.loop.call_context import CallContext
from skills_runtime.agent.loop.control import wait_uncancelled
from skills_runtime.agent.loop.human import ask
from skills_runtime.agent.loop.model_call import read_arguments
from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.agent.loop.prompt import arguments_of
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
from skills_runtime.events.payloads import LlmResponseFinished, ToolCallFinished, ToolCallRequested, ToolCallStarted
from skills_runtime.ports import Choice, Parked, Question, Recovery, Tool, ToolResult, VerifyingTool
from skills_runtime.projections import Call
from skills_runtime.runs import Run
from skills_runtime.safety.sanitize import conceal, sanitize
from skills_runtime.tools import Registry
from skills_runtime.tools.invoke import failure, invoke, refused, safely

UNKNOWN = refused("unknown", "outcome unknown: the runtime stopped while this call was under way")
GAVE_UP = refused("unknown", "outcome unknown: the call cancelled itself")


def no_such_tool(name: str) -> ToolResult:
    """The result of calling a tool that the run does not have."""
    return refused("not_found", f"there is no tool named `{name}`")


def not_found_out(words: str) -> str:
    """What is said of a call whose tool was to find out what came of it, and could not."""
    return f"{UNKNOWN.stderr}, and finding out failed: {words}"


MAX_TOGETHER = 16
"""Calls of one answer that run at the same time."""
SHOWN_ARGUMENTS = 2000
AGAIN, HAPPENED = "it did not happen: do it again", "it happened"


class Settled(msgspec.Struct, frozen=True):
    """The result of a call, what of it may not be shown, and whether it must be durable at once."""

    result: ToolResult
    hidden: tuple[str, ...] = ()
    commit: bool = False


async def settle(run: Run, calls: Sequence[Call], ports: AgentPorts) -> Call | None:
    """Bring calls that may run side by side to their end, and return the first that has to wait for somebody.

    Results are recorded in the order of the calls.
    """
    lanes = {call.tool: _lane(ports.tools.find(call.tool)) for call in calls}
    work = [asyncio.create_task(_in_lane(lanes[call.tool], run, call, ports), name=f"call {call.id}") for call in calls]
    waiting: Call | None = None
    try:
        for call, task in zip(calls, work, strict=True):
            await _over(task)  # and not the task itself, which would be cancelled each time we are
            try:
                done = task.result()
            except Parked:
                waiting = waiting or call
                continue
            except asyncio.CancelledError:
                if ports.control.stopping:
                    raise
                done = Settled(GAVE_UP, commit=True)  # nobody wants the run to stop but the call itself
            await _finish(run, call, done)
    finally:
        await _let_go(work)
    return waiting


async def _over(task: asyncio.Task[Settled]) -> None:
    """Return when a task is over, however it ended; much like `asyncio.wait`, which costs more than a small call."""
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(_: asyncio.Task[Settled]) -> None:
        if not over.done():
            over.set_result(None)

    task.add_done_callback(tell)
    await over


async def _let_go(work: Sequence[asyncio.Task[Settled]]) -> None:
    """Stop calls and return only when each has let go."""
    for task in work:
        task.cancel()
    await wait_uncancelled(work)


def together(calls: Sequence[Call], tools: Registry) -> Sequence[Call]:
    """The first calls that may run side by side: those that only read; any other runs alone and in its turn."""
    count = 0
    for call in calls[:MAX_TOGETHER]:
        tool = tools.find(call.tool)
        if tool is None or tool.spec.effect != "read":
            break
        count += 1
    return calls[: max(1, count)]


async def refuse_unanswerable(run: Run, calls: Sequence[Call], ports: AgentPorts) -> None:
    """Raise before anything runs when one of the calls would have to be approved and nobody ever can."""
    for call in calls if ports.gate.approver is None else ():
        tool = ports.tools.find(call.tool)
        if tool is None or not call.valid or call.phase != "requested":
            continue
        if ports.gate.never_asks(tool, run.view.pending.approvals):
            continue
        context, rule = CallContext(run, call, ports), None
        with suppress(
            ToolError, UsageError, PolicyDenied, SandboxError
        ):  # such a call fails by itself, and asks nobody
            rule = await ports.gate.asking_rule(tool, read_arguments(context.proposed()), context)
        if rule is not None:
            raise ConfigError(
                f"`{call.tool}` needs an approval ({rule}) and nobody can give one",
                hint="let it wait (`--approvals inbox`), give the agent an approval provider, or allow it by a rule",
            )


def _lane(tool: Tool | None) -> asyncio.Semaphore | None:
    count = tool.spec.max_parallel if tool is not None else None
    return asyncio.Semaphore(count) if count else None


async def _in_lane(lane: asyncio.Semaphore | None, run: Run, call: Call, ports: AgentPorts) -> Settled:
    async with lane or nullcontext():
        return await _settle(run, call, ports)


async def _settle(run: Run, call: Call, ports: AgentPorts) -> Settled:
    tool = ports.tools.find(call.tool)
    if tool is None:
        began = call.phase == "started" and call.effect != "read"  # then, the run had the tool
        return Settled(UNKNOWN if began else no_such_tool(call.tool), commit=began)
    if not call.valid:
        given = arguments_of(call, run.blobs.get)[:SHOWN_ARGUMENTS]
        return Settled(refused("validation", f"the arguments are not a JSON object: {given}"), hidden=("stderr",))
    context = CallContext(run, call, ports)
    if call.phase == "started":
        known = await _recovered(tool, read_arguments(context.arguments()), context)
        if known is not None:
            return Settled(known, tool.spec.hidden_results, commit=True)
    stopped = await _passed(tool, context)  # one that is made again too: what was approved may not be what is there now
    if stopped is not None:
        return Settled(stopped)
    arguments = context.arguments()
    await _begin(context, tool, arguments)
    result = await invoke(tool, read_arguments(arguments), context, clock=run.ports.clock)
    return Settled(_with_edit(result, tool, context), tool.spec.hidden_results, commit=tool.spec.effect != "read")


async def _passed(tool: Tool, context: CallContext) -> ToolResult | None:
    """The result of a call that may not run, or cannot; nothing where it may."""
    try:
        # Whoever decides may think as long as they like; where there is nobody the clock need not be stopped.
        with context.ports.control.waiting() if context.ports.gate.approver is not None else nullcontext():
            refusal = await context.ports.gate.admit(tool, read_arguments(context.proposed()), context)
    except (LogError, ApprovalDenied):
        raise
    except SkillsRuntimeError as error:
        return failure(error)
    return refused("permission", refusal) if refusal is not None else None


def _with_edit(result: ToolResult, tool: Tool, context: CallContext) -> ToolResult:
    """The result, with the truth about what ran where an approver changed it."""
    if not context.edited:
        return result
    changed = sanitize(tool.spec, read_arguments(context.arguments()))
    return msgspec.structs.replace(result, data={**(result.data or {}), "arguments_changed_by_approver": changed})


async def _recovered(tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> ToolResult | None:
    """The result of a call that was under way when the runtime died, or nothing when it may be made again."""
    call = context.call
    default: Recovery = "ask_human" if call.effect == "effectful" else "retry"
    match tool.spec.recovery or default:
        case "retry":
            return None
        case "verify":
            return await safely(cast("VerifyingTool", tool).verify(arguments, context), not_found_out)
        case "fail":
            raise ToolError("unknown", f"the runtime stopped while `{call.tool}` was under way")
        case "ask_human" if context.ports.human is None and not context.run.view.pending.knows(call.id):
            return UNKNOWN
        case "ask_human":
            return await _asked(context)


async def _asked(context: CallContext) -> ToolResult | None:
    question = Question(
        question=f"The runtime stopped while `{context.call.tool}` was under way. Did it happen?",
        choices=(Choice(HAPPENED), Choice(AGAIN), Choice("nobody knows")),
    )
    try:
        answers = await ask(context.run, context.ports, context.call, [question])
    except TimeoutError:  # who does not answer in time does not know either
        return UNKNOWN
    said = answers.get(question.id, "")
    if said == AGAIN:
        return None
    return ToolResult(ok=True, stdout="somebody checked: it happened") if said == HAPPENED else UNKNOWN


async def _begin(context: CallContext, tool: Tool, arguments: bytes) -> None:
    """Say that the call starts; an effect begins only after that is durable."""
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


async def _finish(run: Run, call: Call, done: Settled) -> None:
    exact = msgspec.to_builtins(done.result)
    shown = conceal(exact, done.hidden)
    whole = msgspec.json.encode(exact) if shown != exact else None
    run.append(
        ToolCallFinished(
            call_id=call.id,
            tool=call.tool,
            result=shown,
            result_blob=run.keep(whole) if whole is not None else None,
            size=len(whole) if whole is not None else None,
        ),
        step_id=call.step_id,
    )
    if done.commit:
        await run.commit_async()


ACTIVATE = "activate_skill"
"""The tool that takes up a skill."""


def call_skills(run: Run) -> None:
    """Record the calls as one answer; those that were recorded before a process died are not recorded again."""
    talk = run.view.conversation
    free = (name for number in count(1) if (name := f"skill_{number}") not in talk.call_ids)
    ids = list(islice(free, len(talk.to_call)))
    made = {call.id for call in talk.coming_calls}
    for call_id, skill in zip(ids, talk.to_call, strict=True):
        if call_id not in made:
            arguments = {"name": skill.mention, "arguments": skill.arguments}
            called = ToolCallRequested(call_id=call_id, tool=ACTIVATE, name=ACTIVATE, arguments=arguments)
            run.append(called, step_id=f"step_{run.state.steps + 1}")
    run.append(LlmResponseFinished(finish_reason="tool_calls", calls=ids))
