"""Asking a person: durable, so that the answer may come from anywhere and after any restart."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.agent.loop.inbox import receive_messages
from skills_runtime.events.payloads import HumanRequest, HumanResponse
from skills_runtime.ports import HumanIO, Parked, Question
from skills_runtime.projections import Call
from skills_runtime.runs import Run

if TYPE_CHECKING:
    from skills_runtime.agent.loop.ports import AgentPorts

LOOK_SECONDS = 0.25
"""How often the inbox is looked into while somebody is asked."""


async def ask(
    run: Run, ports: "AgentPorts", call: Call, questions: Sequence[Question], *, number: int = 1
) -> Mapping[str, str]:
    """The answers by question id; raises `Parked` when they have to be waited for."""
    if number > 1:  # a call may ask several times, and finds each answer again when it is repeated
        call = msgspec.structs.replace(call, id=f"{call.id}#{number}")
    pending = run.view.pending
    if call.id not in pending.responses:
        given = pending.answers.get(call.id)
        if given is None:
            given = await _ask_now(run, ports, call, questions)
        first = next(iter(given.values()), "")
        run.append(HumanResponse(call_id=call.id, answer=first, answers=dict(given)), step_id=call.step_id)
        await run.commit_async()
    return _by_id(pending.responses[call.id], questions)


def _by_id(given: Mapping[str, str], questions: Sequence[Question]) -> dict[str, str]:
    """Every answer by what whoever asks calls its question; the log gives a single one no name of its own."""
    if len(questions) == 1:
        return {questions[0].id: next(iter(given.values()), "")}
    return {one.id: given.get(one.id, "") for one in questions}


async def _ask_now(run: Run, ports: "AgentPorts", call: Call, questions: Sequence[Question]) -> Mapping[str, str]:
    # Asked again by who goes on with the run: what somebody thinks about it then is not work either.
    if ports.human is not None or call.id not in run.view.pending.questions:
        run.append(_request(call, questions), step_id=call.step_id)
        await run.commit_async()
    if ports.human is None:
        raise Parked(call.id)
    with ports.control.waiting():
        return await _heard(run, ports, ports.human, call, questions)


async def _heard(
    run: Run, ports: "AgentPorts", human: HumanIO, call: Call, questions: Sequence[Question]
) -> Mapping[str, str]:
    """What they say here, or what somebody else says first from somewhere else."""
    said = asyncio.create_task(_said(human, call, questions, ports.human_timeout_ms))
    try:
        while not said.done():
            await asyncio.wait([said], timeout=LOOK_SECONDS)
            await receive_messages(run, ports)
            if call.id in run.view.pending.answers:
                return run.view.pending.answers[call.id]
            if run.view.pending.cancelled:
                raise Parked(call.id)
        return said.result()
    finally:
        said.cancel()


async def _said(human: HumanIO, call: Call, questions: Sequence[Question], timeout_ms: int | None) -> dict[str, str]:
    # Whatever somebody's own code takes for an answer, the log holds text.
    return {one.id: str(await human.ask(one, call_id=call.id, timeout_ms=timeout_ms)) for one in questions}


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
