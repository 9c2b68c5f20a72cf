"""Asking a person: durable, so that the answer may come from anywhere and after any restart."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.events.payloads import HumanRequest, HumanResponse
from skills_runtime.ports import Parked, Question
from skills_runtime.projections import Call
from skills_runtime.runs import Run

if TYPE_CHECKING:
    from skills_runtime.agent.ports import AgentPorts


async def ask(run: Run, ports: "AgentPorts", call: Call, questions: Sequence[Question]) -> Mapping[str, str]:
    """The answers by question id; raises `Parked` when they have to be waited for."""
    pending = run.view.pending
    if call.id not in pending.responses:
        given = pending.answers.get(call.id)
        if given is None:
            given = await _ask_now(run, ports, call, questions)
        first = next(iter(given.values()), "")
        run.append(HumanResponse(call_id=call.id, answer=first, answers=dict(given)), step_id=call.step_id)
        await run.commit_async()
    return pending.responses[call.id]


async def _ask_now(run: Run, ports: "AgentPorts", call: Call, questions: Sequence[Question]) -> Mapping[str, str]:
    if call.id not in run.view.pending.questions:
        run.append(_request(call, questions), step_id=call.step_id)
        await run.commit_async()
    if ports.human is None:
        raise Parked(call.id)
    timeout = ports.human_timeout_ms
    return {one.id: await ports.human.ask(one, call_id=call.id, timeout_ms=timeout) for one in questions}


def _request(call: Call, questions: Sequence[Question]) -> HumanRequest:
    only = questions[0] if len(questions) == 1 else None
    several: list[dict[str, Any]] = [] if only else [msgspec.to_builtins(one) for one in questions]
    return HumanRequest(
        call_id=call.id,
        question=only.question if only else "; ".join(one.question for one in questions),
        choices=[choice.label for choice in only.choices] if only else [],
        context=only.context if only else "",
        tool=call.tool,
        questions=several,
    )
