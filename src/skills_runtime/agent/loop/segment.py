"""The loop: derive the next step from the log and do it, until the run ends, waits or yields.

    state = fold(log) -> receive messages | settle calls | ask the model | end, wait or yield

Starting and resuming are the same function: only the log knows how far a run is.
"""

import asyncio
from contextlib import suppress

from skills_runtime.agent.loop.budget import (
    OUT_OF_TIME,
    LimitReached,
    OnLimit,
    calls_left,
    find_exceeded_limit,
    time_left,
)
from skills_runtime.agent.loop.calls import assess_calls, call_skills, parallel_calls, settle_calls
from skills_runtime.agent.loop.context_window import make_room, needs_room, recover
from skills_runtime.agent.loop.inbox import (
    finish_run_and_inbox,
    finish_run_and_inbox_async,
    open_inbox,
    receive_messages,
)
from skills_runtime.agent.loop.model_call import Prompt, ask_model
from skills_runtime.agent.loop.output import MAX_REJECTIONS, correction_message, find_problem
from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.errors import LogError, ModelError, SkillsRuntimeError
from skills_runtime.events import OutputRejected, RunCancelled, RunCompleted, RunFailed, RunStatus, RunWaitingHuman
from skills_runtime.projections import RunView
from skills_runtime.runs import End, Run
from skills_runtime.safety import Abort
from skills_runtime.tools import describe_error

__all__ = ["run_segment"]

Outcome = End | RunWaitingHuman | None
"""How a segment stops: the run ends, waits for the user, or yields."""


async def run_segment(run: Run, ports: AgentPorts) -> RunStatus:
    """Work on an open run until it ends, waits or yields, and return its state."""
    ports.control.time = None
    with suppress(SkillsRuntimeError):  # the inbox may be unreachable just now
        open_inbox(run, ports.inbox)
    while not await _conclude(run, ports, await _outcome(run, ports, str(run.paths.events))):
        pass  # a message arrived while the end was prepared
    return run.state.status


async def _outcome(run: Run, ports: AgentPorts, locator: str) -> Outcome:
    """Work until something stops it, and return the event that the segment ends with."""
    try:
        return await _work_in_time(run, ports, locator)
    except asyncio.CancelledError:
        _interrupt(run, ports, locator)
        raise
    except LogError:
        raise  # the log itself failed and cannot record it: the run stays open
    except Abort as error:
        return RunCancelled(message=error.message, wal_locator=locator)
    except SkillsRuntimeError as error:
        return RunFailed(
            error_kind=error.kind,
            message=error.message,
            retryable=isinstance(error, ModelError) and error.retryable,
            details={"hint": error.hint} if error.hint else {},
            wal_locator=locator,
        )
    except Exception as error:  # noqa: BLE001 - the top of the loop: any error of a backend or an approver ends the run
        return RunFailed(error_kind="unknown", message=describe_error(error), wal_locator=locator)


async def _work_in_time(run: Run, ports: AgentPorts, locator: str) -> Outcome:
    """Work within the time that the budget leaves."""
    previous = ports.control.time  # a run that continues keeps its earlier deadline
    timeout = asyncio.timeout(time_left(run.view, ports.budget))
    limit = ports.control.time = asyncio.timeout_at(previous.when()) if previous is not None else timeout
    try:
        async with limit:
            return await _work(run, ports, locator)
    except TimeoutError:
        if not limit.expired():
            raise
        return limit_reached(OUT_OF_TIME, ports.budget.on_limit, locator)


async def _work(run: Run, ports: AgentPorts, locator: str) -> Outcome:
    """Take one step after another, receiving messages before each."""
    prompt = Prompt(ports.system_prompt, run.blobs.get)
    answerable: set[str] = set()
    conversation = run.view.conversation
    while not ports.control.yielding:
        await receive_messages(run, ports)
        if run.view.pending.cancelled:
            return RunCancelled(message=run.view.pending.cancelled, wal_locator=locator)
        if conversation.open_calls:
            stop = await _settle_calls(run, ports, answerable, locator)
        elif conversation.has_final_answer:
            stop = _complete(run, ports, locator)
        else:
            answerable.clear()  # providers may reuse call ids in the next answer
            stop = await _continue(run, ports, prompt, locator)
        if stop is not None:
            return stop
    return None


async def _settle_calls(run: Run, ports: AgentPorts, answerable: set[str], locator: str) -> Outcome:
    """Settle the next calls that may run in parallel."""
    calls = list(run.view.conversation.open_calls.values())
    batch = parallel_calls(calls, ports.tools)
    assessed = await assess_calls(run, batch, calls[len(batch) :], ports, answerable)
    usage = ports.total_usage()
    available, limit = calls_left(run.view, ports.budget, usage)
    reached = find_exceeded_limit(run.view, ports.budget, usage) or (limit if available <= 0 else None)
    if reached is not None:
        return limit_reached(reached, ports.budget.on_limit, locator)
    waiting = await settle_calls(run, batch[:available], ports, assessed)
    if waiting is None or run.view.pending.cancelled:
        return None
    need = "an approval" if run.view.pending.approvals.find_by_call(waiting.id) is not None else "an answer"
    return RunWaitingHuman(
        message=f"`{waiting.tool}` waits for {need}", tool=waiting.tool, call_id=waiting.id, wal_locator=locator
    )


async def _continue(run: Run, ports: AgentPorts, prompt: Prompt, locator: str) -> Outcome:
    """Ask the model, unless a limit, a mentioned skill or a full context window comes first."""
    if (reached := find_exceeded_limit(run.view, ports.budget, ports.total_usage())) is not None:
        return limit_reached(reached, ports.budget.on_limit, locator)
    if run.view.conversation.skills_to_call:
        call_skills(run)
        return None
    if ports.skill_changes is not None and ports.skill_changes.is_due():
        await ports.skill_changes.record(run)
    if needs_room(run, ports):
        # Check limits and messages again: compacting costs tokens and time.
        return await make_room(run, ports)
    try:
        await ask_model(run, ports, prompt)
    except ModelError as error:
        if error.kind != "context_length_exceeded":
            raise
        return await recover(run, ports, error)
    return None


def _complete(run: Run, ports: AgentPorts, locator: str) -> Outcome:
    """Return the end of the run, or `None` if the answer does not match the schema and the model may try again."""
    conversation = run.view.conversation
    text = conversation.last_text
    problem = find_problem(text, ports.output_schema) if ports.output_schema is not None else None
    if problem is None:
        return RunCompleted(final_output=text, wal_locator=locator)
    if conversation.rejections < MAX_REJECTIONS:
        run.append(OutputRejected(message=correction_message(problem)))
        return None
    message = f"the model's answer does not match `run.output_schema`: {problem}"
    return RunFailed(error_kind="validation", message=message, wal_locator=locator)


async def _conclude(run: Run, ports: AgentPorts, outcome: Outcome) -> bool:
    """Record the outcome of the segment; return false if the run continues after all."""
    match outcome:
        case None:
            await run.commit_async()
        case RunWaitingHuman():
            run.append(outcome)
            await run.commit_async()
            run.save()
        case RunCompleted() if ports.review:
            await run.change_async(RunStatus.REVIEW_REQUIRED, reason="the task asks for review")
        case _:
            ports.record_children()
            return await finish_run_and_inbox_async(run, ports.inbox, outcome, ports.skills_of)
    return True


def _interrupt(run: Run, ports: AgentPorts, locator: str) -> None:
    """Record at once that the run was stopped, which can be resumed, or cancelled, which cannot."""
    if ports.control.stopping:
        run.append(stop_event(locator))
        run.commit()
        run.save()
        return
    ports.record_children()
    finish_run_and_inbox(run, ports.inbox, lambda: interruption_event(run.view, ports.control.broken, locator))


def limit_reached(reached: LimitReached, on_limit: OnLimit, locator: str) -> RunFailed | RunWaitingHuman:
    """Return the event for a reached limit: the run fails, or waits for a higher limit."""
    if on_limit == "park":
        message = f"{reached.message}; raise `{reached.setting}` to continue"
        return RunWaitingHuman(message=message, error_kind="budget_exceeded", wal_locator=locator)
    return RunFailed(
        error_kind="budget_exceeded",
        message=reached.message,
        details={"hint": f"raise `{reached.setting}`"},
        wal_locator=locator,
    )


def stop_event(locator: str) -> RunWaitingHuman:
    """Return the event for work that was stopped and can be resumed."""
    return RunWaitingHuman(message="stopped", error_kind="stopped", wal_locator=locator)


def interruption_event(view: RunView, broken: str, locator: str) -> RunCancelled | RunFailed:
    """Return the event for cancelled work, or for a `broken` cancel checker."""
    if broken:
        return RunFailed(error_kind="unknown", message=broken, wal_locator=locator)
    return RunCancelled(message=view.pending.cancelled or "cancelled", wal_locator=locator)
