"""The loop.

What comes next is read off the log, so beginning and going on are the same function.

state = fold(log) -> answer | settle calls | end
"""

import asyncio
from collections.abc import Sequence

from skills_runtime.agent.answer import answer
from skills_runtime.agent.calls import refuse_unanswerable, settle, side_by_side
from skills_runtime.agent.ports import AgentPorts
from skills_runtime.agent.prompt import Prompt
from skills_runtime.errors import ApprovalDenied, LogError, ModelError, SkillsRuntimeError
from skills_runtime.events.payloads import RunCancelled, RunCompleted, RunFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import Call, RunView
from skills_runtime.runs import End, Run, finish_run, finish_run_async
from skills_runtime.safety.sanitize import well_formed

__all__ = ["run_segment"]


async def run_segment(run: Run, ports: AgentPorts) -> RunStatus:
    """Work on a run until it ends; the log says how far it is and what came of it."""
    locator = str(run.paths.events)
    try:
        end = await _in_time(run, ports, locator)
    except asyncio.CancelledError:
        finish_run(run, RunCancelled(message="cancelled", wal_locator=locator))
        raise
    except LogError:
        raise  # what the log cannot hold it cannot tell either: the run stays open
    except ApprovalDenied as error:
        end = RunCancelled(message=error.message, wal_locator=locator)
    except SkillsRuntimeError as error:
        end = RunFailed(
            error_kind=error.kind,
            message=error.message,
            retryable=isinstance(error, ModelError) and error.retryable,
            details={"hint": error.hint} if error.hint else {},
            wal_locator=locator,
        )
    except Exception as error:  # noqa: BLE001 - the top of the loop: whatever a backend or an approver raises ends the run
        message = well_formed(f"{type(error).__name__}: {error}")
        end = RunFailed(error_kind="unknown", message=message, wal_locator=locator)
    await finish_run_async(run, end)
    return run.state.status


async def _in_time(run: Run, ports: AgentPorts, locator: str) -> End:
    limit = asyncio.timeout(ports.max_wall_time_sec)
    try:
        async with limit:
            return await _work(run, ports, locator)
    except TimeoutError:
        if not limit.expired():
            raise
        return _over_budget("the run has used up its time", "run.max_wall_time_sec", locator)


async def _work(run: Run, ports: AgentPorts, locator: str) -> End:
    prompt = Prompt(ports.system_prompt, run.blobs.get)
    while not _answered(run.view):
        calls = _open_calls(run.view)
        refuse_unanswerable(calls, ports)
        for group in side_by_side(calls, ports.tools):
            room = ports.max_steps - run.view.conversation.settled
            await settle(run, group[:room] if room > 0 else (), ports)
            if len(group) > room:
                return _over_budget(f"the run has made {ports.max_steps} tool calls", "run.max_steps", locator)
        await answer(run, ports, prompt)
    return RunCompleted(final_output=run.view.conversation.last_text, wal_locator=locator)


def _answered(view: RunView) -> bool:
    """Whether the last word is the model's, and asks for nothing more."""
    last = view.conversation.messages[-1]
    return last.role == "assistant" and not last.calls


def _open_calls(view: RunView) -> Sequence[Call]:
    return list(view.conversation.open_calls.values())


def _over_budget(message: str, setting: str, locator: str) -> RunFailed:
    return RunFailed(
        error_kind="budget_exceeded", message=message, details={"hint": f"raise `{setting}`"}, wal_locator=locator
    )
