"""The context window of the model: estimate its usage, decide when to compact, and recover when it is full."""

from typing import Literal

from skills_runtime.agent.loop.human import ask
from skills_runtime.agent.loop.model_call import excerpt, truncate_middle
from skills_runtime.agent.loop.ports import AgentPorts, ContextRules
from skills_runtime.errors import ModelError
from skills_runtime.events import (
    BudgetIncreased,
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    ContextLengthExceeded,
    ContextRecoveryDecided,
    LlmRequestStarted,
    LlmResponseDelta,
    Payload,
    RunCompleted,
    RunWaitingHuman,
    SkillUnloaded,
)
from skills_runtime.llm import EventRecorder, record_answer
from skills_runtime.ports import ChatRequest, Choice, Parked, Question
from skills_runtime.projections import CONTEXT_RECOVERY, Call, Content, Conversation
from skills_runtime.runs import Run, write_artifact

Reason = Literal["resume", "threshold", "context_length_exceeded"]
"""Reason for a compaction."""

CHARS_PER_TOKEN = 3
"""Conservative estimate for text that the model has not counted yet."""
MIN_FREED_SHARE = 0.25
"""Share of a full window that another compaction must free."""
# Limit for compactions without an answer in between: more would not help.
MAX_CONSECUTIVE_COMPACTIONS = 2
CHOICES = (
    Choice("compact_continue", "summarize the conversation and continue"),
    Choice("increase_budget_continue", "give the run more steps and time, summarize and continue"),
    Choice("handoff_new_run", "end this run with a summary that a new one can start from"),
    Choice("terminate", "end this run"),
)
RECOVERY_QUESTION = Question(
    question="The conversation no longer fits the model. How should the run continue?", choices=CHOICES
)


def estimate_tokens(conversation: Conversation) -> int:
    """Estimate the tokens of the next request: the model's last count plus an estimate for newer text."""
    since = max(0, conversation.chars - conversation.measured_chars)
    return conversation.measured_tokens + since // CHARS_PER_TOKEN


def compaction_reason(conversation: Conversation, rules: ContextRules) -> Reason | None:
    """Return the reason to compact before the model refuses, if there is one."""
    if conversation.unanswered_compactions or is_compaction_limit_reached(conversation, rules):
        return None
    # Earlier messages of the session do not count: resuming alone is no reason to summarize them.
    own = len(conversation.messages) - conversation.preamble_count
    if conversation.should_summarize and own > 2 + rules.keep_last_messages:
        return "resume"
    full = estimate_tokens(conversation) >= rules.window_tokens * rules.compact_at
    return "threshold" if full and rules.mode == "compact_first" and _is_worth_compacting(conversation, rules) else None


def _is_worth_compacting(conversation: Conversation, rules: ContextRules) -> bool:
    """Return whether compacting frees enough; otherwise text that always stays would trigger one at every turn."""
    left_out = conversation.compactable_sizes(rules.keep_last_messages)
    if len(left_out) < 2:
        return False  # a summary would only replace one message
    if not conversation.compactions:
        return True
    enough = rules.window_tokens * rules.compact_at * MIN_FREED_SHARE
    least = conversation.compacted_tokens or conversation.compacted_chars // CHARS_PER_TOKEN
    return max(estimate_tokens(conversation) - least, sum(left_out) // CHARS_PER_TOKEN) >= enough


def can_shrink(conversation: Conversation, rules: ContextRules) -> bool:
    """Return whether compacting may help after the model has refused."""
    if conversation.unanswered_compactions >= MAX_CONSECUTIVE_COMPACTIONS or is_compaction_limit_reached(
        conversation, rules
    ):
        return False
    keep_count = messages_to_keep("context_length_exceeded", rules)
    return bool(
        conversation.compactable_sizes(keep_count) or conversation.find_skills_over_limit(rules.skills_max_chars)
    )


def messages_to_keep(reason: Reason, rules: ContextRules) -> int:
    """Return how many of the newest messages to keep; fewer after a refusal, because they may be too long."""
    return min(2, rules.keep_last_messages) if reason == "context_length_exceeded" else rules.keep_last_messages


def max_summary_chars(rules: ContextRules) -> int:
    """Return the maximum length of a summary and its source: it fits the window even if each character is a token."""
    return min(rules.history_max_chars, rules.window_tokens * CHARS_PER_TOKEN // 4)


def is_compaction_limit_reached(conversation: Conversation, rules: ContextRules) -> bool:
    """Return whether the run has used all its compactions."""
    return 0 < rules.max_compactions <= conversation.compactions


Stop = RunCompleted | RunWaitingHuman | None
"""How the segment ends, if recovery ends it."""

TOO_LONG_MESSAGE = "the conversation is too long for the model"
WAITING_MESSAGE = "the conversation no longer fits the model: choose how to continue"
SUMMARY_PROMPT = """\
Another model will continue this work with your summary in place of the conversation.
Say what the task is, what was done and found, which files were written, what failed and why, and what is still to do.
Keep names, paths, numbers and decisions exact. Answer with the summary only.
"""


def needs_room(run: Run, ports: AgentPorts) -> bool:
    """Return whether the window must be handled before the model is asked: a pending recovery, or a due compaction."""
    return _is_recovering(run) or compaction_reason(run.view.conversation, ports.context) is not None


async def make_room(run: Run, ports: AgentPorts) -> Stop:
    """Handle a pending recovery or compact, before the model is asked."""
    if _is_recovering(run):
        return await recover(run, ports, ModelError(TOO_LONG_MESSAGE, kind="context_length_exceeded"))
    reason = compaction_reason(run.view.conversation, ports.context)
    if reason is not None:
        await compact(run, ports, reason=reason)
    return None


async def recover(run: Run, ports: AgentPorts, error: ModelError) -> Stop:
    """Compact after the model refused the conversation as too long, or raise its error."""
    conversation, locator = run.view.conversation, str(run.paths.events)
    if not conversation.recovery:
        try:
            await _decide(run, ports)
        except Parked:
            name = _question_id(conversation)
            waiting = RunWaitingHuman(message=WAITING_MESSAGE, tool=CONTEXT_RECOVERY, call_id=name, wal_locator=locator)
            return waiting if not run.view.pending.cancelled else None
    if conversation.recovery == "handoff_new_run":
        summary = await _summary(run, ports)
        return RunCompleted(final_output=summary, wal_locator=locator, metadata={"handoff": True})
    if conversation.recovery == "terminate" or not can_shrink(conversation, ports.context):
        raise error
    await compact(run, ports, reason="context_length_exceeded")
    return None


async def compact(run: Run, ports: AgentPorts, *, reason: Reason) -> None:
    """Replace all but the newest messages with a summary, which is also saved as a file."""
    rules, count = ports.context, run.view.conversation.compactions + 1
    run.append(CompactionStarted(reason=reason, mode=rules.mode))
    try:
        summary = await _summary(run, ports)
    except ModelError as error:
        run.append(CompactionFailed(reason=reason, error=error.message))
        # The summary goes into the log and a file: use only what events may show.
        text = excerpt(run.view.conversation, None, limit=max_summary_chars(rules))
        summary = ports.secrets.text(text)
    name = f"archive/compaction-{count:03d}.md"
    write_artifact(run, name, summary.encode())
    left_out = run.view.conversation.find_skills_over_limit(rules.skills_max_chars)
    for mention in left_out:
        run.append(SkillUnloaded(mention_text=mention, reason="no room after a compaction"))
    run.append(
        ContextCompacted(
            summary=summary,
            kept_messages=messages_to_keep(reason, rules),
            reason=reason,
            count=count,
            artifact_path=name,
            skills_left_out=left_out,
        )
    )
    await run.commit_async()


async def _decide(run: Run, ports: AgentPorts) -> None:
    """Record how to recover; raise `Parked` if the user must decide and has not yet."""
    rules, conversation = ports.context, run.view.conversation
    if not run.view.pending.has_question(_question_id(conversation)):
        run.append(ContextLengthExceeded(mode=rules.mode, compactions=conversation.compactions))
    chosen = await _ask_user(run, ports) if rules.mode == "ask_first" else None
    fallback = rules.fallback_mode if rules.mode == "ask_first" and chosen is None else None
    decision = chosen or ("compact_continue" if "compact_first" in (rules.mode, fallback) else "terminate")
    if decision == "increase_budget_continue":
        more = BudgetIncreased(
            reason="context_length_exceeded",
            extra_steps=rules.extra_steps,
            extra_wall_time_sec=rules.extra_wall_time_sec,
        )
        run.append(more)
        ports.control.extend(more.extra_wall_time_sec)
    run.append(ContextRecoveryDecided(mode=rules.mode, decision=decision, fallback_mode=fallback))
    await run.commit_async()


async def _ask_user(run: Run, ports: AgentPorts) -> str | None:
    """Return the user's choice; `None` if there is no one to ask or no answer in time."""
    name = _question_id(run.view.conversation)
    if ports.human is None and ports.inbox is None and not run.view.pending.has_question(name):
        return None
    call = Call(id=name, tool=CONTEXT_RECOVERY, arguments=Content())
    try:
        answers = await ask(run, ports, call, [RECOVERY_QUESTION])
    except TimeoutError:
        return None
    answer = answers.get(RECOVERY_QUESTION.id, "")
    return answer if answer in {choice.label for choice in RECOVERY_QUESTION.choices} else "terminate"


def _is_recovering(run: Run) -> bool:
    conversation = run.view.conversation
    return bool(conversation.recovery) or run.view.pending.has_question(_question_id(conversation))


def _question_id(conversation: Conversation) -> str:
    return f"{CONTEXT_RECOVERY}#{conversation.compactions + 1}"


async def _summary(run: Run, ports: AgentPorts) -> str:
    """Return the planner's summary of the conversation, truncated to the limit; raise `ModelError` if it is empty."""
    limit = max_summary_chars(ports.context)
    history = excerpt(run.view.conversation, run.blobs.get, limit=limit)
    turn_id, model = f"turn_{run.state.turns + 1}", ports.planner_model
    request = ChatRequest(
        model=model,
        messages=[{"role": "system", "content": SUMMARY_PROMPT}, {"role": "user", "content": history}],
        run_id=run.state.run_id,
        turn_id=turn_id,
        answered=run.view.conversation.compactions,
        purpose="compaction",
    )
    texts: list[str] = []

    def record(payload: Payload) -> None:
        if not isinstance(payload, LlmResponseDelta):
            run.append(payload, turn_id=turn_id)
        elif payload.delta_type == "text":
            texts.append(payload.text)

    record(LlmRequestStarted(model=model, messages_count=2, purpose="compaction"))
    price = ports.prices.get(model)
    recorder = EventRecorder(record, model=model, clock=run.ports.clock, price=price, secrets=ports.secrets)
    await record_answer(ports.backend, request, recorder)
    summary = "".join(texts).strip()
    if not summary:
        raise ModelError("the model's summary of the conversation is empty", retryable=True)
    return truncate_middle(summary, limit=limit)
