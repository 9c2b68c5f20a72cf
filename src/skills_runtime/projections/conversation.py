"""The conversation with the model; only complete answers are part of it."""

from typing import Any, Literal

import msgspec

from skills_runtime.events import (
    ContextCompacted,
    ContextRecoveryDecided,
    Event,
    HistoryLoaded,
    ImagesAttached,
    InboxReceived,
    LlmRequestStarted,
    LlmResponseDelta,
    LlmResponseFinished,
    LlmUsage,
    OutputRejected,
    PlanUpdated,
    RunAdopted,
    RunCompleted,
    RunStarted,
    SkillCatalogOffered,
    SkillInjected,
    SkillUnloaded,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
)

Phase = Literal["requested", "started"]


class Content(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Data in the log, or the digest of the blob that holds it exactly."""

    data: Any = None
    blob: str | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A call of the model, and its progress."""

    id: str
    tool: str
    arguments: Content
    valid: bool = True
    step_id: str = ""
    phase: Phase = "requested"
    effect: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One entry of the conversation, in the order that providers require."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    blob: str = ""
    """The blob of the text, if the log does not hold it."""
    images: tuple[dict[str, str], ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    result: Content | None = None
    pinned: bool = False
    """Survives compaction."""
    skill: str = ""
    """The skill whose text it is."""
    size: int = 0
    """The length of the text in the blob."""
    is_skill_update: bool = False
    """Announces changed skills."""


class ActiveSkill(msgspec.Struct, frozen=True, omit_defaults=True):
    """A skill whose text is in the conversation."""

    digest: str = ""
    arguments: str = ""
    path: str = ""
    """Its file, if it has one."""


class CalledSkill(msgspec.Struct, frozen=True, omit_defaults=True):
    """A skill that a user called by name and that runs in a child run."""

    mention: str
    arguments: str = ""


_encode = msgspec.json.Encoder().encode

CLOSING = (ToolCallStarted, RunCompleted)
"""In logs of version 0 no event marks the end of an answer, but these only occur after it."""


MAX_PINNED_SKILL_UPDATES = 8
"""Maximum number of messages about changed skills that survive compaction."""


class Conversation(msgspec.Struct, kw_only=True):
    """The messages so far, the answer being streamed, and the open and finished calls."""

    messages: list[Message] = []
    open_calls: dict[str, Call] = {}
    partial_text: list[str] = []
    partial_calls: list[Call] = []
    call_ids: set[str] = set()
    """The ids of all calls, including compacted ones: a service may reuse an id, and each must be unique here."""
    deferred_messages: list[Message] = []
    """Messages received while calls were open: providers require their results first."""
    preamble_count: int = 0
    """The number of messages before the task."""
    task: str = ""
    plan: list[dict[str, Any]] = []
    skills: dict[str, ActiveSkill] = {}
    """The active skills, by mention."""
    skills_to_call: list[CalledSkill] = []
    """Skills to call before the next model request, until the calls are made."""
    called_skills: dict[str, CalledSkill] = {}
    """Skills called on behalf of a user, by call id."""
    skills_blob: str = ""
    """The blob with what the model knows about all skills."""
    initial_skills_blob: str = ""
    """The blob with what it knew about them at the start of the run."""
    synthetic_answers: int = 0
    """The number of answers that are such calls and not from a model."""
    answers: int = 0
    finished_calls: int = 0
    compactions: int = 0
    unanswered_compactions: int = 0
    """Since the last answer."""
    rejections: int = 0
    chars: int = 0
    """The approximate length of the messages."""
    measured_tokens: int = 0
    """The number of tokens that the model counted at its last answer."""
    measured_chars: int = 0
    compacted_chars: int = 0
    """The length of the messages after the last compaction."""
    compacted_tokens: int = 0
    """The number of tokens that the model counted at the first answer after that."""
    is_side_request: bool = False
    """Whether the last model request was not part of the conversation."""
    recovery: str = ""
    """The decision about a full context, until it is carried out."""
    should_summarize: bool = False
    """Whether to continue from a summary, until there is one or the model has answered without."""

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        payload = event.payload
        if (self.partial_text or self.partial_calls) and isinstance(payload, CLOSING):
            self.finish_answer()
        handle = _HANDLERS.get(type(payload))
        if handle is not None:
            handle(self, event, payload)

    @property
    def last_text(self) -> str:
        """Return the text of the last answer."""
        return next((message.text for message in reversed(self.messages) if message.role == "assistant"), "")

    @property
    def model_answers(self) -> int:
        """Return the number of answers from a model."""
        return self.answers - self.synthetic_answers

    @property
    def has_final_answer(self) -> bool:
        """Return whether the last message is an answer of the model without calls."""
        last = self.messages[-1] if self.messages else None
        return last is not None and last.role == "assistant" and not last.calls

    def start(self, payload: RunStarted) -> None:
        """Set the task; the new task of a fork replaces the old one, or follows the conversation."""
        if payload.task == self.task and len(self.messages) > self.preamble_count:
            return
        task = Message(role="user", text=payload.task, pinned=True)
        if self.answers:
            self.add_message(task)
        else:  # what was said since the task was given stands behind the new one too
            messages = [
                message
                for message in self.messages[self.preamble_count :]
                if not (message.pinned and message.text == self.task)
            ]
            self.messages = [*self.messages[: self.preamble_count], task, *messages]
            self.chars = sum(map(_size, self.messages))
        self.task = payload.task

    def add_preamble(self, message: Message) -> None:
        """Insert a message before the task, or append it if the model has already answered."""
        if self.answers:
            self.add_message(message)
            return
        self.messages = [*self.messages[: self.preamble_count], message, *self.messages[self.preamble_count :]]
        self.preamble_count += 1
        self.chars += _size(message)

    def add_message(self, message: Message) -> None:
        """Append a message after the results of open calls."""
        if self.open_calls:
            self.deferred_messages.append(message)
            return
        self.messages.append(message)
        self.chars += _size(message)

    def finish_call(self, payload: ToolCallFinished) -> None:
        """Append the result of an open call."""
        del self.open_calls[payload.call_id]
        self.finished_calls += 1
        message = Message(role="tool", call_id=payload.call_id, result=Content(payload.result, payload.result_blob))
        self.messages.append(message)
        self.chars += payload.size or _size(message)
        if not self.open_calls:
            messages, self.deferred_messages = self.deferred_messages, []
            for deferred in messages:
                self.add_message(deferred)

    def compact(self, payload: ContextCompacted) -> None:
        """Keep pinned messages, the summary and the newest messages, and never a result without its call."""
        first = self._first_index_to_keep(payload.kept_messages)
        pinned = [message for message in self.messages[:first] if message.pinned]
        summary = Message(role="user", text=_format_summary(payload.summary, self.plan, payload.skills_left_out))
        self.preamble_count = sum(message.pinned for message in self.messages[: self.preamble_count])
        self.messages = [*pinned, summary, *self.messages[first:]]
        self.compactions += 1
        self.unanswered_compactions += 1
        self.recovery, self.should_summarize = "", False
        self.chars = sum(map(_size, self.messages))
        self.measured_tokens = self.measured_chars = self.compacted_tokens = 0
        self.compacted_chars = self.chars

    def compactable_sizes(self, kept_messages: int) -> list[int]:
        """Return the lengths of the messages that a compaction would replace when it keeps `kept_messages`."""
        return [
            _size(message)
            for message in self.messages[: self._first_index_to_keep(kept_messages)]
            if not message.pinned
        ]

    def add_skill_update(self, text: str) -> None:
        """Append changes of skills; the latest survive compaction, since the first list is outdated."""
        older = [index for index, message in enumerate(self.messages) if message.is_skill_update and message.pinned]
        for index in older[: max(0, len(older) + 1 - MAX_PINNED_SKILL_UPDATES)]:
            self.messages[index] = msgspec.structs.replace(self.messages[index], pinned=False)
        self.add_message(Message(role="user", text=text, pinned=True, is_skill_update=True))

    def unload_skill(self, mention: str) -> None:
        """Let the next summary drop the text of a skill."""
        self.skills.pop(mention, None)
        for messages in (self.messages, self.deferred_messages):
            for index, message in enumerate(messages):
                if message.pinned and message.skill == mention:
                    messages[index] = msgspec.structs.replace(message, pinned=False)

    def clear_skill_paths(self) -> None:
        """Remove the paths of skills: another machine chose them, and commands may read there."""
        self.skills = {mention: msgspec.structs.replace(skill, path="") for mention, skill in self.skills.items()}

    def find_skills_over_limit(self, max_chars: int) -> list[str]:
        """Return the active skills to unload so that the texts of the others fit: the newest that fit stay."""
        remaining, mentions = max_chars, list[str]()
        for message in reversed(self.messages):
            if not message.skill or not message.pinned:
                continue
            if message.size > remaining:
                mentions.append(message.skill)
            else:
                remaining -= message.size
        return mentions[::-1]

    def _first_index_to_keep(self, kept_messages: int) -> int:
        first = max(self.preamble_count + 1, len(self.messages) - kept_messages)
        first = max(self.preamble_count + 1, min(first, self._latest_answer_index()))
        while first < len(self.messages) and self.messages[first].role == "tool":
            first += 1
        return first

    def _latest_answer_index(self) -> int:
        """Return the index of the newest answer if the model has not seen its results yet."""
        if self.has_final_answer:
            return len(self.messages)
        return max(
            (index for index, message in enumerate(self.messages) if message.role == "assistant"),
            default=len(self.messages),
        )

    def finish_answer(self) -> None:
        """Add the streamed pieces as an answer."""
        calls = self.partial_calls
        message = Message(role="assistant", text="".join(self.partial_text), calls=tuple(calls))
        self.messages.append(message)
        self.chars += _size(message)
        self.open_calls = {call.id: call for call in calls}
        self.call_ids.update(self.open_calls)
        self.partial_text, self.partial_calls = [], []
        self.answers += 1
        self.unanswered_compactions = 0
        self.recovery, self.should_summarize = "", False


def _build_call(payload: ToolCallRequested, step_id: str | None) -> Call:
    return Call(
        id=payload.call_id,
        tool=payload.tool,
        arguments=Content(payload.arguments, payload.arguments_blob),
        valid=payload.arguments_valid,
        step_id=step_id or "",
    )


def _format_summary(text: str, plan: list[dict[str, Any]], unloaded_skills: list[str]) -> str:
    steps = [f"- [{step.get('status', '')}] {step.get('step', '')}" for step in plan]
    plan_lines = ["", "The plan as it stands:", *steps] if steps else []
    skill_lines = [
        "",
        "Skills that are not active any more, for want of room:",
        *(f"- {mention}" for mention in unloaded_skills),
    ]
    head = ["Summary of the work so far (older messages were left out):", "", text]
    return "\n".join([*head, *plan_lines, *(skill_lines if unloaded_skills else ())])


def _size(message: Message) -> int:
    size = len(message.text) + message.size
    for call in message.calls:
        size += len(_encode(call.arguments.data))
    return size if message.result is None else size + len(_encode(message.result.data))


def _on_request_started(conversation: Conversation, event: Event, payload: LlmRequestStarted) -> None:
    conversation.partial_text, conversation.partial_calls = [], []
    conversation.is_side_request = payload.purpose != "answer"


def _on_delta(conversation: Conversation, event: Event, payload: LlmResponseDelta) -> None:
    if payload.delta_type == "text":
        conversation.partial_text.append(payload.text)


def _on_call_requested(conversation: Conversation, event: Event, payload: ToolCallRequested) -> None:
    conversation.partial_calls.append(_build_call(payload, event.step_id))


def _on_usage(conversation: Conversation, event: Event, payload: LlmUsage) -> None:
    if conversation.is_side_request:
        return
    conversation.measured_tokens = payload.input_tokens + payload.output_tokens
    conversation.measured_chars = conversation.chars + sum(map(len, conversation.partial_text))
    if conversation.compactions and not conversation.compacted_tokens:
        conversation.compacted_tokens = conversation.measured_tokens


def _on_response_finished(conversation: Conversation, event: Event, payload: LlmResponseFinished) -> None:
    conversation.finish_answer()
    if conversation.skills_to_call:  # the model is asked only after these, so the answer is not its own
        conversation.called_skills.update(zip(conversation.open_calls, conversation.skills_to_call, strict=False))
        conversation.synthetic_answers += 1
        conversation.skills_to_call = []


def _on_call_started(conversation: Conversation, event: Event, payload: ToolCallStarted) -> None:
    call = conversation.open_calls.get(payload.call_id)
    if call is not None:
        conversation.open_calls[call.id] = msgspec.structs.replace(call, phase="started", effect=payload.effect)


def _on_call_finished(conversation: Conversation, event: Event, payload: ToolCallFinished) -> None:
    if payload.call_id in conversation.open_calls:
        conversation.finish_call(payload)


def _on_run_started(conversation: Conversation, event: Event, payload: RunStarted) -> None:
    conversation.start(payload)
    conversation.should_summarize = bool(payload.resume.get("enabled")) and payload.resume.get("strategy") == "summary"


def _on_compacted(conversation: Conversation, event: Event, payload: ContextCompacted) -> None:
    conversation.compact(payload)


def _on_recovery_decided(conversation: Conversation, event: Event, payload: ContextRecoveryDecided) -> None:
    conversation.recovery = payload.decision


def _on_plan_updated(conversation: Conversation, event: Event, payload: PlanUpdated) -> None:
    conversation.plan = payload.plan


def _on_history_loaded(conversation: Conversation, event: Event, payload: HistoryLoaded) -> None:
    for message in payload.messages:
        role = "assistant" if message.get("role") == "assistant" else "user"
        conversation.add_preamble(Message(role=role, text=message.get("content", "")))


def _on_skill_injected(conversation: Conversation, event: Event, payload: SkillInjected) -> None:
    mention = payload.mention_text
    if not payload.text_blob:
        if (payload.render, payload.source) == ("fork", "mention"):
            _schedule_skill_call(conversation, CalledSkill(mention, payload.arguments))
        return
    if mention:
        conversation.unload_skill(mention)
    conversation.add_preamble(
        Message(role="user", blob=payload.text_blob, pinned=True, skill=mention, size=payload.size)
    )
    conversation.skills[mention] = ActiveSkill(payload.digest, payload.arguments, payload.skill_path)


def _schedule_skill_call(conversation: Conversation, skill: CalledSkill) -> None:
    """Schedule a call of a skill; a fork with the same task names it again and already has the result."""
    if skill not in conversation.skills_to_call and skill not in conversation.called_skills.values():
        conversation.partial_text, conversation.partial_calls = [], []
        conversation.skills_to_call.append(skill)


def _on_skill_unloaded(conversation: Conversation, event: Event, payload: SkillUnloaded) -> None:
    conversation.unload_skill(payload.mention_text)


def _on_run_adopted(conversation: Conversation, event: Event, payload: RunAdopted) -> None:
    conversation.clear_skill_paths()


def _on_images_attached(conversation: Conversation, event: Event, payload: ImagesAttached) -> None:
    conversation.add_preamble(
        Message(role="user", text="Pictures that belong to the task:", images=tuple(payload.images), pinned=True)
    )


def _on_catalog_offered(conversation: Conversation, event: Event, payload: SkillCatalogOffered) -> None:
    conversation.skills_blob = payload.skills_blob or conversation.skills_blob
    if payload.text:
        conversation.add_skill_update(payload.text)
    else:
        conversation.initial_skills_blob = payload.skills_blob or ""


def _on_inbox_received(conversation: Conversation, event: Event, payload: InboxReceived) -> None:
    if payload.kind == "steer":
        conversation.add_message(Message(role="user", text=str(payload.body.get("text", ""))))


def _on_output_rejected(conversation: Conversation, event: Event, payload: OutputRejected) -> None:
    conversation.rejections += 1
    conversation.add_message(Message(role="user", text=payload.message))


_HANDLERS: dict[type, Any] = {
    LlmRequestStarted: _on_request_started,
    LlmResponseDelta: _on_delta,
    LlmResponseFinished: _on_response_finished,
    LlmUsage: _on_usage,
    ToolCallRequested: _on_call_requested,
    ToolCallStarted: _on_call_started,
    ToolCallFinished: _on_call_finished,
    RunStarted: _on_run_started,
    RunAdopted: _on_run_adopted,
    ContextCompacted: _on_compacted,
    ContextRecoveryDecided: _on_recovery_decided,
    PlanUpdated: _on_plan_updated,
    HistoryLoaded: _on_history_loaded,
    SkillCatalogOffered: _on_catalog_offered,
    SkillInjected: _on_skill_injected,
    SkillUnloaded: _on_skill_unloaded,
    ImagesAttached: _on_images_attached,
    InboxReceived: _on_inbox_received,
    OutputRejected: _on_output_rejected,
}

READS = frozenset({*_HANDLERS, *CLOSING})
"""The payloads this projection reads."""
