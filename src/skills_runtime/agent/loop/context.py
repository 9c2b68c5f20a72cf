"""The context: how full it is, and how it is made smaller without losing the thread.

Compaction replaces old messages by a summary; the task, the skills and the plan survive, and no call loses its result.
"""

from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.agent.loop.prompt import excerpt
from skills_runtime.errors import ModelError
from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    BudgetIncreased,
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    ContextLengthExceeded,
    ContextRecoveryDecided,
    LlmRequestStarted,
    LlmResponseDelta,
)
from skills_runtime.llm import Transcriber, transcribe
from skills_runtime.ports import ChatRequest, Choice, Question
from skills_runtime.projections import Conversation
from skills_runtime.runs import Run, keep_artifact

if TYPE_CHECKING:
    from skills_runtime.agent.loop.ports import AgentPorts

Mode = Literal["compact_first", "ask_first", "fail_fast"]

CHARS_PER_TOKEN = 3
"""A careful guess, used only for what the model has not counted yet."""

MAX_IN_A_ROW = 2
"""Compactions without an answer between them, after which another one will not help either."""

SUMMARY_PROMPT = """\
Another model will continue this work with your summary in place of the conversation.
Say what the task is, what was done and found, which files were written, what failed and why, and what is still to do.
Keep names, paths, numbers and decisions exact. Answer with the summary only.
"""

CHOICES = (
    Choice("compact_continue", "sum up the conversation and go on"),
    Choice("increase_budget_continue", "give the run more steps and time, sum up and go on"),
    Choice("handoff_new_run", "end this run with a summary that a new one can start from"),
    Choice("terminate", "end this run"),
)


class ContextRules(msgspec.Struct, frozen=True, kw_only=True):
    """How much fits the model, and what happens when it is full."""

    mode: Mode = "compact_first"
    window_tokens: int = 128_000
    compact_at: float = 0.8
    max_compactions: int = 0
    keep_last_messages: int = 6
    history_max_chars: int = 24_000
    extra_steps: int = 20
    extra_wall_time_sec: int = 600
    fallback_mode: Literal["compact_first", "fail_fast"] = "compact_first"


class Handoff(msgspec.Struct, frozen=True):
    """Somebody wants the run to end with a summary of it."""

    summary: str


def tokens_in(conversation: Conversation) -> int:
    """How many tokens the next request has, about: what the model counted, and a guess for what came since."""
    since = max(0, conversation.chars - conversation.measured_chars)
    return conversation.measured_tokens + since // CHARS_PER_TOKEN


def nearly_full(conversation: Conversation, rules: ContextRules) -> bool:
    """Whether it is time to compact, before the model refuses."""
    due = tokens_in(conversation) >= rules.window_tokens * rules.compact_at
    # Right after a compaction there is nothing more to gain.
    shrinks = len(conversation.messages) > conversation.leading + 2 + rules.keep_last_messages
    fresh = conversation.unanswered_compactions == 0
    return due and shrinks and fresh and rules.mode == "compact_first" and not _used_up(conversation, rules)


async def recover(run: Run, ports: "AgentPorts", error: ModelError) -> Handoff | None:
    """Make room after the model refused the conversation as too long, or raise its error."""
    conversation, rules = run.view.conversation, ports.context
    run.append(ContextLengthExceeded(mode=rules.mode, compactions=conversation.compactions))
    decision = await _decision(run, ports)
    if decision == "handoff_new_run":
        return Handoff(await _summary(run, ports))
    shrinks = len(conversation.messages) > conversation.leading + 2
    helped = conversation.unanswered_compactions < MAX_IN_A_ROW
    if decision == "terminate" or not shrinks or not helped or _used_up(conversation, rules):
        raise error
    if decision == "increase_budget_continue":
        more = BudgetIncreased(
            reason="context_length_exceeded",
            extra_steps=rules.extra_steps,
            extra_wall_time_sec=rules.extra_wall_time_sec,
        )
        run.append(more)
        ports.control.extend(more.extra_wall_time_sec)
    await compact(run, ports, reason="context_length_exceeded")
    return None


async def compact(run: Run, ports: "AgentPorts", *, reason: str) -> None:
    """Replace all but the newest messages by a summary, which is also kept as a file."""
    rules, count = ports.context, run.view.conversation.compactions + 1
    run.append(CompactionStarted(reason=reason, mode=rules.mode))
    try:
        summary = await _summary(run, ports)
    except ModelError as error:
        run.append(CompactionFailed(reason=reason, error=error.message))
        summary = excerpt(run.view.conversation, run.blobs.get, limit=rules.history_max_chars)
    name = f"archive/compaction-{count:03d}.md"
    keep_artifact(run, name, summary.encode())
    # After a refusal the newest messages may be what is too long.
    kept = rules.keep_last_messages if reason == "threshold" else min(2, rules.keep_last_messages)
    run.append(ContextCompacted(summary=summary, kept_messages=kept, reason=reason, count=count, artifact_path=name))
    await run.commit_async()


async def _decision(run: Run, ports: "AgentPorts") -> str:
    rules = ports.context
    if rules.mode == "ask_first" and ports.human is not None:
        question = Question(question="The conversation no longer fits the model. What now?", choices=CHOICES)
        call_id = f"context_{run.view.conversation.compactions + 1}"
        said = await ports.human.ask(question, call_id=call_id, timeout_ms=ports.human_timeout_ms)
        decision, fallback = said if said in {one.label for one in CHOICES} else "terminate", None
    else:
        mode = rules.fallback_mode if rules.mode == "ask_first" else rules.mode
        decision = "compact_continue" if mode == "compact_first" else "terminate"
        fallback = rules.fallback_mode if rules.mode == "ask_first" else None
    run.append(ContextRecoveryDecided(mode=rules.mode, decision=decision, fallback_mode=fallback))
    return decision


async def _summary(run: Run, ports: "AgentPorts") -> str:
    """What the planner makes of the conversation."""
    history = excerpt(run.view.conversation, run.blobs.get, limit=ports.context.history_max_chars)
    turn_id, model = f"turn_{run.state.turns + 1}", ports.planner_model
    request = ChatRequest(
        model=model,
        messages=[{"role": "system", "content": SUMMARY_PROMPT}, {"role": "user", "content": history}],
        run_id=run.state.run_id,
        turn_id=turn_id,
        answered=run.view.conversation.compactions,
        purpose="compaction",
    )
    said: list[str] = []

    def record(payload: Payload) -> None:
        if not isinstance(payload, LlmResponseDelta):
            run.append(payload, turn_id=turn_id)
        elif payload.delta_type == "text":
            said.append(payload.text)

    record(LlmRequestStarted(model=model, messages_count=2, purpose="compaction"))
    transcriber = Transcriber(record, model=model, clock=run.ports.clock, price=ports.prices.get(model))
    await transcribe(ports.backend, request, transcriber)
    return "".join(said)


def _used_up(conversation: Conversation, rules: ContextRules) -> bool:
    return 0 < rules.max_compactions <= conversation.compactions
