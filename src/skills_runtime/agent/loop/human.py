"""Ask the user durably: the answer may come through any channel and after any restart."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from skills_runtime.agent.loop.inbox import receive_messages
from skills_runtime.agent.loop.ports import AgentPorts
from skills_runtime.events import HumanRequest, HumanResponse
from skills_runtime.ports import HumanIO, Parked, Question
from skills_runtime.projections import Call
from skills_runtime.runs import Run

POLL_SECONDS = 0.25
"""Polling interval of the inbox while the user is asked."""


async def ask(
    run: Run, ports: AgentPorts, call: Call, questions: Sequence[Question], *, number: int = 1
) -> Mapping[str, str]:
    """Return the answers by question id; raise `Parked` if the run has to wait for them."""
    # A call may ask several times, and finds each answer again when it is repeated.
    if number > 1:
        call = msgspec.structs.replace(call, id=f"{call.id}#{number}")
    pending = run.view.pending
    if call.id not in pending.responses:
        answers = pending.answers.get(call.id)
        if answers is None:
            answers = await _ask_now(run, ports, call, questions)
        first = next(iter(answers.values()), "")
        run.append(HumanResponse(call_id=call.id, answer=first, answers=dict(answers)), step_id=call.step_id)
        await run.commit_async()
    response = pending.responses[call.id]
    if len(questions) == 1:  # the log stores a single answer without a question id
        return {questions[0].id: next(iter(response.values()), "")}
    return {question.id: response.get(question.id, "") for question in questions}


async def _ask_now(run: Run, ports: AgentPorts, call: Call, questions: Sequence[Question]) -> Mapping[str, str]:
    """Record the question, then wait for an answer if the user can be asked now."""
    # Record it again when a resumed run asks anew: the time to think does not count as work.
    if ports.human is not None or call.id not in run.view.pending.questions:
        only = questions[0] if len(questions) == 1 else None
        request = HumanRequest(
            call_id=call.id,
            question=only.question if only else "; ".join(question.question for question in questions),
            choices=[choice.label for choice in only.choices] if only else [],
            context=only.context if only else "",
            tool=call.tool,
            questions=[] if only else [msgspec.to_builtins(question) for question in questions],
        )
        run.append(request, step_id=call.step_id)
        await run.commit_async()
    if ports.human is None:
        raise Parked(call.id)
    with ports.control.waiting():
        return await _first_answer(run, ports, ports.human, call, questions)


async def _first_answer(
    run: Run, ports: AgentPorts, human: HumanIO, call: Call, questions: Sequence[Question]
) -> Mapping[str, str]:
    """Return the user's answers or those from the inbox, whichever come first."""

    async def ask_each() -> dict[str, str]:
        # The caller's code may return any type, but the log holds text.
        timeout_ms = ports.human_timeout_ms
        return {
            question.id: str(await human.ask(question, call_id=call.id, timeout_ms=timeout_ms))
            for question in questions
        }

    answers = asyncio.create_task(ask_each())
    try:
        while not answers.done():
            await asyncio.wait([answers], timeout=POLL_SECONDS)
            await receive_messages(run, ports)
            if call.id in run.view.pending.answers:
                return run.view.pending.answers[call.id]
            if run.view.pending.cancelled:
                raise Parked(call.id)
        return answers.result()
    finally:
        answers.cancel()
