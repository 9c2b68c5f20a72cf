"""What each version of the transcript tells of: a file says which one it follows, and is held against that one.

Pure. Version 2 also tells what people sent to a run at work, and what the runtime did to its conversation.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from skills_runtime.events import Event
from skills_runtime.events.payloads import (
    BudgetIncreased,
    ChildRunFinished,
    ChildRunStarted,
    CompactionFailed,
    ContextCompacted,
    ContextRecoveryDecided,
    EnvVarRequired,
    EnvVarSet,
    HistoryLoaded,
    HumanRequest,
    HumanResponse,
    ImagesAttached,
    InboxReceived,
    OutputRejected,
    RunCompleted,
    RunCreated,
    SkillCatalogOffered,
)
from skills_runtime.projections.skill_notes import skill_note
from skills_runtime.projections.transcript_entries import (
    FIRST,
    Teller,
    entry,
    front_matter,
    opening,
    system,
    task,
    with_facts,
)


class Rules(NamedTuple):
    """What a version tells of, besides the answers of the model."""

    told: Mapping[type, Teller]
    again: Teller
    """Tells that work on the same task goes on."""


def version_of(beginning: bytes) -> int:
    """The version whose rules a transcript says it follows, the latest for one that does not say it."""
    return next((version for version in RULES if beginning.startswith(opening(version).encode())), LATEST)


def _born(event: Event, born: RunCreated) -> str:
    above = {"parent_run_id": born.parent_run_id} if born.parent_run_id else {}
    fork = {"forked_from": born.fork.run_id, "forked_after_event": born.fork.seq} if born.fork else {}
    return front_matter(2, event, born, {**above, **fork})


def _message(event: Event, received: InboxReceived) -> str:
    """What somebody said to the run at work; of other messages their outcome is told, and nothing else counts."""
    if received.kind != "steer":
        return ""
    note = "review" if received.body.get("review") else "message"
    return entry(event, "user", str(received.body.get("text", "")), note=note)


def _history(event: Event, loaded: HistoryLoaded) -> str:
    return "".join(
        entry(event, "assistant" if one.get("role") == "assistant" else "user", one.get("content", ""), note="earlier")
        for one in loaded.messages
    )


def _pictures(event: Event, attached: ImagesAttached) -> str:
    names = (f"{one.get('name', '')} ({one.get('media_type', '')})".strip() for one in attached.images)
    return entry(event, "user", "\n".join(names), note="pictures")


def _question(event: Event, asked: HumanRequest) -> str:
    only = {"question": asked.question, "choices": asked.choices, "context": asked.context}
    return entry(event, "assistant", "\n".join(map(_put, asked.questions or [only])), note="question")


def _put(one: Mapping[str, Any]) -> str:
    choices = one.get("choices")
    labels = cast("Iterable[Any]", choices) if isinstance(choices, list) else ()
    facts = {"context": str(one.get("context", "")), "choices": " | ".join(map(_label, labels))}
    return with_facts(str(one.get("question", "")), facts)


def _label(choice: Any) -> str:
    return str(cast("Mapping[str, Any]", choice).get("label", "")) if isinstance(choice, dict) else str(choice)


def _reply(event: Event, said: HumanResponse) -> str:
    several = [f"{name}: {answer}" for name, answer in said.answers.items()] if len(said.answers) > 1 else []
    only = said.answer or next(iter(said.answers.values()), "")
    return entry(event, "user", "\n".join(several) or only, note="answer")


def _compacted(compacted: ContextCompacted) -> str:
    facts = {"reason": compacted.reason, "skills left out": ", ".join(compacted.skills_left_out)}
    return f"{with_facts('older messages were replaced by a summary', facts)}\n\n{compacted.summary}"


def _more_room(more: BudgetIncreased) -> str:
    facts = {"steps": more.extra_steps, "seconds": more.extra_wall_time_sec}
    return with_facts(f"more room: {more.reason}", {name: str(count) for name, count in facts.items() if count})


def _child(child: ChildRunStarted) -> str:
    return with_facts(f"`{child.child_run_id}` began", {"profile": child.profile_id, "task": child.message})


def _needed(needed: EnvVarRequired) -> str:
    who = f"the skill `{needed.skill_name}`" if needed.skill_name else "a skill"
    return f"{who} needs the variable `{needed.env_var}`"


def _completed(done: RunCompleted) -> str:
    """A run that hands its work on ends with a summary, which is no answer of its conversation."""
    handed_on = f": another run can go on from here\n\n{done.final_output}" if done.metadata.get("handoff") else ""
    return f"completed{handed_on}"


def _news(news: SkillCatalogOffered) -> str:
    return "\n\n".join(filter(None, (skill_note(news), news.text)))


SECOND: Mapping[type, Teller] = {
    **FIRST,
    RunCreated: _born,
    InboxReceived: _message,
    HistoryLoaded: _history,
    ImagesAttached: _pictures,
    HumanRequest: _question,
    HumanResponse: _reply,
    OutputRejected: system(lambda rejected: rejected.message, note="correction"),
    ContextRecoveryDecided: system(lambda decided: f"the conversation has no room any more: {decided.decision}"),
    CompactionFailed: system(lambda failed: f"the model gave no summary: {failed.error}", note="compaction"),
    ContextCompacted: system(_compacted, note="compaction"),
    BudgetIncreased: system(_more_room),
    ChildRunStarted: system(_child, note="child run"),
    ChildRunFinished: system(lambda child: f"`{child.child_run_id}`: {child.status}", note="child run"),
    EnvVarRequired: system(_needed),
    EnvVarSet: system(lambda given: f"the variable `{given.env_var}` was given"),
    SkillCatalogOffered: system(_news),
    RunCompleted: system(_completed),
}
"""What version 2 tells of; the rest is of interest to programs, or told by the call that it belongs to."""

RULES: Mapping[int, Rules] = {
    1: Rules(FIRST, again=task),
    2: Rules(SECOND, again=system(lambda started: "resumed")),
}
LATEST = 2
"""The version that new transcripts follow."""
