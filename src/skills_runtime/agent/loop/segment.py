"""The loop.

What comes next is read off the log, so beginning and going on are the same function.

state = fold(log) -> take in messages | settle calls | answer | end, wait or yield
"""

import asyncio

from skills_runtime.agent.loop.answer import answer
from skills_runtime.agent.loop.calls import refuse_unanswerable, settle, together
from skills_runtime.agent.loop.context import make_room, recover
from skills_runtime.agent.loop.inbox import record_all, take_in
from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.agent.prompt import Prompt
from skills_runtime.agent.skill_news import look_after_skills
from skills_runtime.errors import LogError, ModelError, SkillsRuntimeError
from skills_runtime.events.payloads import OutputRejected, RunCancelled, RunCompleted, RunFailed, RunWaitingHuman
from skills_runtime.events.states import RunStatus
from skills_runtime.llm.output import MAX_REJECTIONS, correction, problem_with
from skills_runtime.projections import Call
from skills_runtime.runs import End, Run, finish_run, finish_run_async
from skills_runtime.safety.gate import Abort
from skills_runtime.safety.limits import Reached, calls_left, out_of_time, spent, time_left
from skills_runtime.tools.invoke import in_words

__all__ = ["run_segment"]

Outcome = End | RunWaitingHuman | None
"""How a segment stops: the run ends, waits for somebody, or is only left for later."""


async def run_segment(run: Run, ports: AgentPorts) -> RunStatus:
    """Work on a run until it ends, waits or is left; the log says how far it is and what came of it."""
    locator = str(run.paths.events)
    try:
        outcome = await _in_time(run, ports, locator)
    except asyncio.CancelledError:
        _interrupt(run, ports, locator)
        raise
    except LogError:
        raise  # what the log cannot hold it cannot tell either: the run stays open
    except Abort as error:
        outcome = RunCancelled(message=error.message, wal_locator=locator)
    except SkillsRuntimeError as error:
        outcome = _failed(error, locator)
    except Exception as error:  # noqa: BLE001 - the top of the loop: whatever a backend or an approver raises ends the run
        outcome = RunFailed(error_kind="unknown", message=in_words(error), wal_locator=locator)
    await _conclude(run, ports, outcome)
    return run.state.status


async def _in_time(run: Run, ports: AgentPorts, locator: str) -> Outcome:
    limit = ports.control.time = asyncio.timeout(time_left(run.view, ports.limits))
    try:
        async with limit:
            return await _work(run, ports, locator)
    except TimeoutError:
        if not limit.expired():
            raise
        return _over(out_of_time(), ports, locator)


async def _work(run: Run, ports: AgentPorts, locator: str) -> Outcome:
    prompt = Prompt(ports.system_prompt, run.blobs.get)
    talk = run.view.conversation
    while not ports.control.yielding:
        await take_in(run, ports)
        if run.view.pending.cancelled:
            return RunCancelled(message=run.view.pending.cancelled, wal_locator=locator)
        if talk.open_calls:
            stop = await _settle(run, ports, locator)
        elif talk.answered:
            stop = _completed(run, ports, locator)
        else:
            stop = await _answer(run, ports, prompt, locator)
        if stop is not None:
            return stop
    return None


async def _settle(run: Run, ports: AgentPorts, locator: str) -> Outcome:
    """Settle the next calls that may run together."""
    calls = list(run.view.conversation.open_calls.values())
    await refuse_unanswerable(run, calls, ports)
    room, limit = calls_left(run.view, ports.limits)
    over = spent(run.view, ports.limits) or (limit if room <= 0 else None)
    if over is not None:
        return _over(over, ports, locator)
    waiting = await settle(run, together(calls, ports.tools)[:room], ports)
    return _asking(waiting, run, locator) if waiting is not None and not run.view.pending.cancelled else None


async def _answer(run: Run, ports: AgentPorts, prompt: Prompt, locator: str) -> Outcome:
    """Ask the model, with room made before it is needed."""
    if (over := spent(run.view, ports.limits)) is not None:
        return _over(over, ports, locator)
    if await look_after_skills(run, ports.news):
        return None
    if (stop := await make_room(run, ports)) is not None:
        return stop
    try:
        await answer(run, ports, prompt)
    except ModelError as error:
        if error.kind != "context_length_exceeded":
            raise
        return await recover(run, ports, error)
    return None


def _completed(run: Run, ports: AgentPorts, locator: str) -> Outcome:
    """The end, unless the answer is not what was asked for and the model may try again."""
    talk = run.view.conversation
    text = talk.last_text
    problem = problem_with(text, ports.output_schema) if ports.output_schema is not None else None
    if problem is None:
        return RunCompleted(final_output=text, wal_locator=locator)
    if talk.rejections < MAX_REJECTIONS:
        run.append(OutputRejected(message=correction(problem)))
        return None
    message = f"the model's answer does not match `run.output_schema`: {problem}"
    return RunFailed(error_kind="validation", message=message, wal_locator=locator)


async def _conclude(run: Run, ports: AgentPorts, outcome: Outcome) -> None:
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
            await finish_run_async(run, outcome)


def _interrupt(run: Run, ports: AgentPorts, locator: str) -> None:
    """Record at once that the run was stopped, which can be undone, or cancelled, which cannot."""
    if ports.control.stopping:
        run.append(RunWaitingHuman(message="stopped", error_kind="stopped", wal_locator=locator))
        run.commit()
        run.save()
        return
    taken = record_all(run, ports.inbox)
    finish_run(run, RunCancelled(message=run.view.pending.cancelled or "cancelled", wal_locator=locator))
    taken()


def _asking(call: Call, run: Run, locator: str) -> RunWaitingHuman:
    what = "an approval" if run.view.pending.approvals.of_call(call.id) is not None else "an answer"
    return RunWaitingHuman(
        message=f"`{call.tool}` waits for {what}", tool=call.tool, call_id=call.id, wal_locator=locator
    )


def _over(reached: Reached, ports: AgentPorts, locator: str) -> RunFailed | RunWaitingHuman:
    if ports.limits.on_limit == "park":
        message = f"{reached.message}; `{reached.setting}` would give it more"
        return RunWaitingHuman(message=message, error_kind="budget_exceeded", wal_locator=locator)
    return RunFailed(
        error_kind="budget_exceeded",
        message=reached.message,
        details={"hint": f"raise `{reached.setting}`"},
        wal_locator=locator,
    )


def _failed(error: SkillsRuntimeError, locator: str) -> RunFailed:
    return RunFailed(
        error_kind=error.kind,
        message=error.message,
        retryable=isinstance(error, ModelError) and error.retryable,
        details={"hint": error.hint} if error.hint else {},
        wal_locator=locator,
    )
