"""The model's window: how much fits it, when it is time to make room, and what can be done then.

Pure.
"""

from typing import Literal

import msgspec

from skills_runtime.ports import Choice, Question
from skills_runtime.projections import Conversation

Mode = Literal["compact_first", "ask_first", "fail_fast"]
Reason = Literal["resume", "threshold", "context_length_exceeded"]
"""Why a conversation is compacted."""

CHARS_PER_TOKEN = 3
"""A careful guess, used only for what the model has not counted yet."""
WORTH_IT = 0.25
"""The share of a full window that another compaction has to make room for."""
MAX_IN_A_ROW = 2
"""Compactions without an answer between them, after which another one will not help either."""
CHOICES = (
    Choice("compact_continue", "sum up the conversation and go on"),
    Choice("increase_budget_continue", "give the run more steps and time, sum up and go on"),
    Choice("handoff_new_run", "end this run with a summary that a new one can start from"),
    Choice("terminate", "end this run"),
)
WHAT_NOW = Question(question="The conversation no longer fits the model. What now?", choices=CHOICES)


class ContextRules(msgspec.Struct, frozen=True, kw_only=True):
    """How much fits the model, and what happens when it is full."""

    mode: Mode = "compact_first"
    window_tokens: int = 128_000
    compact_at: float = 0.8
    max_compactions: int = 0
    keep_last_messages: int = 6
    history_max_chars: int = 24_000
    skills_max_chars: int = 100_000
    """How much text of active skills stays when the rest is summed up; the newest stay."""
    extra_steps: int = 20
    extra_wall_time_sec: int = 600
    fallback_mode: Literal["compact_first", "fail_fast"] = "compact_first"


def tokens_in(conversation: Conversation) -> int:
    """How many tokens the next request has, about: what the model counted, and a guess for what came since."""
    since = max(0, conversation.chars - conversation.measured_chars)
    return conversation.measured_tokens + since // CHARS_PER_TOKEN


def due(conversation: Conversation, rules: ContextRules) -> Reason | None:
    """Why it is time to compact before the model refuses, if it is."""
    if conversation.unanswered_compactions or used_up(conversation, rules):
        return None
    # Going on is no reason to sum up what a session said before.
    own = len(conversation.messages) - conversation.leading
    if conversation.to_sum_up and own > 2 + rules.keep_last_messages:
        return "resume"
    full = tokens_in(conversation) >= rules.window_tokens * rules.compact_at
    return "threshold" if full and rules.mode == "compact_first" and _gains(conversation, rules) else None


def _gains(conversation: Conversation, rules: ContextRules) -> bool:
    """Whether compacting a full window is worth it: what stays whatever is left out must not cost one every time."""
    left_out = conversation.left_out(rules.keep_last_messages)
    if len(left_out) < 2:
        return False  # one message for one summary
    if not conversation.compactions:
        return True
    enough = rules.window_tokens * rules.compact_at * WORTH_IT
    least = conversation.compacted_tokens or conversation.compacted_chars // CHARS_PER_TOKEN
    return max(tokens_in(conversation) - least, sum(left_out) // CHARS_PER_TOKEN) >= enough


def can_shrink(conversation: Conversation, rules: ContextRules) -> bool:
    """Whether compacting may help after the model has refused."""
    if conversation.unanswered_compactions >= MAX_IN_A_ROW or used_up(conversation, rules):
        return False
    kept = kept_messages("context_length_exceeded", rules)
    return bool(conversation.left_out(kept) or conversation.skills_beyond(rules.skills_max_chars))


def kept_messages(reason: Reason, rules: ContextRules) -> int:
    """How many of the newest messages stay; after a refusal they may be what is too long."""
    return min(2, rules.keep_last_messages) if reason == "context_length_exceeded" else rules.keep_last_messages


def room_for_summary(rules: ContextRules) -> int:
    """How many characters a summary is made of and may have: they fit the window even if each is a token."""
    return min(rules.history_max_chars, rules.window_tokens * CHARS_PER_TOKEN // 4)


def used_up(conversation: Conversation, rules: ContextRules) -> bool:
    """Whether the run has compacted as often as it may."""
    return 0 < rules.max_compactions <= conversation.compactions
