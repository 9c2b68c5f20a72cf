"""What the model has been told and has said: only answers that were complete count."""

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
    """Data as the log holds it, or the digest of the blob that holds it exactly."""

    data: Any = None
    blob: str | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A call the model made, and how far it came."""

    id: str
    tool: str
    arguments: Content
    valid: bool = True
    step_id: str = ""
    phase: Phase = "requested"
    effect: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One entry of the conversation, in the order providers require."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    blob: str = ""
    """Where the text is when the log does not hold it."""
    images: tuple[dict[str, str], ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    result: Content | None = None
    pinned: bool = False
    """Survives compaction."""
    skill: str = ""
    """The skill whose text it is."""
    size: int = 0
    """How long the text in the blob is."""
    news: bool = False
    """Tells of skills that changed."""


class ActiveSkill(msgspec.Struct, frozen=True, omit_defaults=True):
    """A skill whose text the model has."""

    digest: str = ""
    arguments: str = ""
    path: str = ""
    """Its file, when it is one."""


class CalledSkill(msgspec.Struct, frozen=True, omit_defaults=True):
    """A skill that somebody called by name, for a run of its own to work on."""

    mention: str
    arguments: str = ""


_encode = msgspec.json.Encoder().encode

CLOSING = (ToolCallStarted, RunCompleted)
"""In logs of version 0 nothing says that an answer is complete, but these only happen when it is."""


KEPT_NEWS = 8
"""How many messages about changed skills survive compaction."""


class Conversation(msgspec.Struct, kw_only=True):
    """The messages so far, the answer still coming in, and the calls settled and not settled yet."""

    messages: list[Message] = []
    open_calls: dict[str, Call] = {}
    coming_text: list[str] = []
    coming_calls: list[Call] = []
    call_ids: set[str] = set()
    """The ids of all calls, also of those that compaction left out: a service may use one again, and none repeats."""
    held_back: list[Message] = []
    """What came in while calls were open: providers want their results first."""
    leading: int = 0
    """How many messages stand before the task."""
    task: str = ""
    plan: list[dict[str, Any]] = []
    skills: dict[str, ActiveSkill] = {}
    """Those that are active, by mention."""
    to_call: list[CalledSkill] = []
    """Those that the run calls for somebody before its model is asked, until the calls are made."""
    called: dict[str, CalledSkill] = {}
    """Those that were called for somebody, by the ids of the calls."""
    told_skills: str = ""
    """The blob that holds what the model knows of all skills."""
    first_skills: str = ""
    """The blob that holds what it knew of them when the run began."""
    unasked: int = 0
    """How many of the answers are such calls, which no model gave."""
    answers: int = 0
    settled: int = 0
    compactions: int = 0
    unanswered_compactions: int = 0
    """Since the last answer."""
    rejections: int = 0
    chars: int = 0
    """How long the messages are, about."""
    measured_tokens: int = 0
    """How many tokens the model counted when it last answered."""
    measured_chars: int = 0
    compacted_chars: int = 0
    """How long the messages were after the last compaction."""
    compacted_tokens: int = 0
    """How many tokens the model counted when it first answered after that."""
    aside: bool = False
    """Whether the model was last asked something that is no part of the conversation."""
    recovery: str = ""
    """What was decided about a full context, until it is done."""
    to_sum_up: bool = False
    """Whether the run shall go on from a summary, until there is one or the model has answered without."""

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        payload = event.payload
        if (self.coming_text or self.coming_calls) and isinstance(payload, CLOSING):
            self.finish_answer()
        change = _CHANGES.get(type(payload))
        if change is not None:
            change(self, event, payload)

    @property
    def last_text(self) -> str:
        """The text of the last answer."""
        return next((message.text for message in reversed(self.messages) if message.role == "assistant"), "")

    @property
    def asked(self) -> int:
        """How many answers a model gave."""
        return self.answers - self.unasked

    @property
    def answered(self) -> bool:
        """Whether the last word is the model's, and asks for nothing more."""
        last = self.messages[-1] if self.messages else None
        return last is not None and last.role == "assistant" and not last.calls

    def start(self, payload: RunStarted) -> None:
        """Take the task; a fork may have been given another one, which replaces it or follows what was said."""
        if payload.task == self.task and len(self.messages) > self.leading:
            return
        task = Message(role="user", text=payload.task, pinned=True)
        if self.answers:
            self.say(task)
        else:  # what was said since the task was given stands behind the new one too
            messages = [
                message
                for message in self.messages[self.leading :]
                if not (message.pinned and message.text == self.task)
            ]
            self.messages = [*self.messages[: self.leading], task, *messages]
            self.chars = sum(map(_size, self.messages))
        self.task = payload.task

    def lead(self, message: Message) -> None:
        """Put a message before the task, or at the end when the model has answered already."""
        if self.answers:
            self.say(message)
            return
        self.messages = [*self.messages[: self.leading], message, *self.messages[self.leading :]]
        self.leading += 1
        self.chars += _size(message)

    def say(self, message: Message) -> None:
        """Add a message, after the results that are still to come."""
        if self.open_calls:
            self.held_back.append(message)
            return
        self.messages.append(message)
        self.chars += _size(message)

    def settle(self, payload: ToolCallFinished) -> None:
        """Add the result of an open call."""
        del self.open_calls[payload.call_id]
        self.settled += 1
        message = Message(role="tool", call_id=payload.call_id, result=Content(payload.result, payload.result_blob))
        self.messages.append(message)
        self.chars += payload.size or _size(message)
        if not self.open_calls:
            messages, self.held_back = self.held_back, []
            for one in messages:
                self.say(one)

    def compact(self, payload: ContextCompacted) -> None:
        """Keep what is pinned, the summary and the newest messages, never a result without its call."""
        first = self._first_kept(payload.kept_messages)
        pinned = [message for message in self.messages[:first] if message.pinned]
        summary = Message(role="user", text=_summary(payload.summary, self.plan, payload.skills_left_out))
        self.leading = sum(one.pinned for one in self.messages[: self.leading])
        self.messages = [*pinned, summary, *self.messages[first:]]
        self.compactions += 1
        self.unanswered_compactions += 1
        self.recovery, self.to_sum_up = "", False
        self.chars = sum(map(_size, self.messages))
        self.measured_tokens = self.measured_chars = self.compacted_tokens = 0
        self.compacted_chars = self.chars

    def left_out(self, kept_messages: int) -> list[int]:
        """How long the messages are that a compaction would replace which keeps so many of the newest."""
        return [_size(message) for message in self.messages[: self._first_kept(kept_messages)] if not message.pinned]

    def tell_news(self, text: str) -> None:
        """Add what became of skills; the last such messages survive compaction, since the first list is old."""
        older = [at for at, message in enumerate(self.messages) if message.news and message.pinned]
        for at in older[: max(0, len(older) + 1 - KEPT_NEWS)]:
            self.messages[at] = msgspec.structs.replace(self.messages[at], pinned=False)
        self.say(Message(role="user", text=text, pinned=True, news=True))

    def unload(self, mention: str) -> None:
        """Let the text of a skill go with the next summary."""
        self.skills.pop(mention, None)
        for messages in (self.messages, self.held_back):
            for at, message in enumerate(messages):
                if message.pinned and message.skill == mention:
                    messages[at] = msgspec.structs.replace(message, pinned=False)

    def distrust_paths(self) -> None:
        """Forget where skills lay: another machine says so, and commands may read there."""
        self.skills = {mention: msgspec.structs.replace(skill, path="") for mention, skill in self.skills.items()}

    def skills_beyond(self, room: int) -> list[str]:
        """The active skills that must go for the texts of the others to have room: the newest that fit stay."""
        left, gone = room, list[str]()
        for message in reversed(self.messages):
            if not message.skill or not message.pinned:
                continue
            if message.size > left:
                gone.append(message.skill)
            else:
                left -= message.size
        return gone[::-1]

    def _first_kept(self, kept_messages: int) -> int:
        first = max(self.leading + 1, len(self.messages) - kept_messages)
        first = max(self.leading + 1, min(first, self._unseen()))
        while first < len(self.messages) and self.messages[first].role == "tool":
            first += 1
        return first

    def _unseen(self) -> int:
        """Where the newest answer stands, when the model has not seen yet what came of it."""
        if self.answered:
            return len(self.messages)
        return max(
            (at for at, message in enumerate(self.messages) if message.role == "assistant"), default=len(self.messages)
        )

    def finish_answer(self) -> None:
        """Count what has come in as an answer."""
        calls = self.coming_calls
        message = Message(role="assistant", text="".join(self.coming_text), calls=tuple(calls))
        self.messages.append(message)
        self.chars += _size(message)
        self.open_calls = {call.id: call for call in calls}
        self.call_ids.update(self.open_calls)
        self.coming_text, self.coming_calls = [], []
        self.answers += 1
        self.unanswered_compactions = 0
        self.recovery, self.to_sum_up = "", False


def _requested(payload: ToolCallRequested, step_id: str | None) -> Call:
    return Call(
        id=payload.call_id,
        tool=payload.tool,
        arguments=Content(payload.arguments, payload.arguments_blob),
        valid=payload.arguments_valid,
        step_id=step_id or "",
    )


def _summary(text: str, plan: list[dict[str, Any]], left_out: list[str]) -> str:
    steps = [f"- [{one.get('status', '')}] {one.get('step', '')}" for one in plan]
    current = ["", "The plan as it stands:", *steps] if steps else []
    gone = ["", "Skills that are not active any more, for want of room:", *(f"- {one}" for one in left_out)]
    head = ["Summary of the work so far (older messages were left out):", "", text]
    return "\n".join([*head, *current, *(gone if left_out else ())])


def _size(message: Message) -> int:
    size = len(message.text) + message.size
    for call in message.calls:
        size += len(_encode(call.arguments.data))
    return size if message.result is None else size + len(_encode(message.result.data))


def _asked(talk: Conversation, event: Event, payload: LlmRequestStarted) -> None:
    talk.coming_text, talk.coming_calls = [], []
    talk.aside = payload.purpose != "answer"


def _delta(talk: Conversation, event: Event, payload: LlmResponseDelta) -> None:
    if payload.delta_type == "text":
        talk.coming_text.append(payload.text)


def _called(talk: Conversation, event: Event, payload: ToolCallRequested) -> None:
    talk.coming_calls.append(_requested(payload, event.step_id))


def _used(talk: Conversation, event: Event, payload: LlmUsage) -> None:
    if talk.aside:
        return
    talk.measured_tokens = payload.input_tokens + payload.output_tokens
    talk.measured_chars = talk.chars + sum(map(len, talk.coming_text))
    if talk.compactions and not talk.compacted_tokens:
        talk.compacted_tokens = talk.measured_tokens


def _answered(talk: Conversation, event: Event, payload: LlmResponseFinished) -> None:
    talk.finish_answer()
    if talk.to_call:  # the model is asked only after these, so the answer is not its own
        talk.called.update(zip(talk.open_calls, talk.to_call, strict=False))
        talk.unasked += 1
        talk.to_call = []


def _begun(talk: Conversation, event: Event, payload: ToolCallStarted) -> None:
    call = talk.open_calls.get(payload.call_id)
    if call is not None:
        talk.open_calls[call.id] = msgspec.structs.replace(call, phase="started", effect=payload.effect)


def _finished(talk: Conversation, event: Event, payload: ToolCallFinished) -> None:
    if payload.call_id in talk.open_calls:
        talk.settle(payload)


def _started(talk: Conversation, event: Event, payload: RunStarted) -> None:
    talk.start(payload)
    talk.to_sum_up = bool(payload.resume.get("enabled")) and payload.resume.get("strategy") == "summary"


def _compacted(talk: Conversation, event: Event, payload: ContextCompacted) -> None:
    talk.compact(payload)


def _decided(talk: Conversation, event: Event, payload: ContextRecoveryDecided) -> None:
    talk.recovery = payload.decision


def _planned(talk: Conversation, event: Event, payload: PlanUpdated) -> None:
    talk.plan = payload.plan


def _remembered(talk: Conversation, event: Event, payload: HistoryLoaded) -> None:
    for message in payload.messages:
        role = "assistant" if message.get("role") == "assistant" else "user"
        talk.lead(Message(role=role, text=message.get("content", "")))


def _taught(talk: Conversation, event: Event, payload: SkillInjected) -> None:
    mention = payload.mention_text
    if not payload.text_blob:
        if (payload.render, payload.source) == ("fork", "mention"):
            _call_for(talk, CalledSkill(mention, payload.arguments))
        return
    if mention:
        talk.unload(mention)
    talk.lead(Message(role="user", blob=payload.text_blob, pinned=True, skill=mention, size=payload.size))
    talk.skills[mention] = ActiveSkill(payload.digest, payload.arguments, payload.skill_path)


def _call_for(talk: Conversation, skill: CalledSkill) -> None:
    """Have a skill called; a fork that goes on with the same task names it once more, and has what came of it."""
    if skill not in talk.to_call and skill not in talk.called.values():
        talk.coming_text, talk.coming_calls = [], []
        talk.to_call.append(skill)


def _unloaded(talk: Conversation, event: Event, payload: SkillUnloaded) -> None:
    talk.unload(payload.mention_text)


def _adopted(talk: Conversation, event: Event, payload: RunAdopted) -> None:
    talk.distrust_paths()


def _shown(talk: Conversation, event: Event, payload: ImagesAttached) -> None:
    talk.lead(Message(role="user", text="Pictures that belong to the task:", images=tuple(payload.images), pinned=True))


def _offered(talk: Conversation, event: Event, payload: SkillCatalogOffered) -> None:
    talk.told_skills = payload.skills_blob or talk.told_skills
    if payload.text:
        talk.tell_news(payload.text)
    else:
        talk.first_skills = payload.skills_blob or ""


def _steered(talk: Conversation, event: Event, payload: InboxReceived) -> None:
    if payload.kind == "steer":
        talk.say(Message(role="user", text=str(payload.body.get("text", ""))))


def _rejected(talk: Conversation, event: Event, payload: OutputRejected) -> None:
    talk.rejections += 1
    talk.say(Message(role="user", text=payload.message))


_CHANGES: dict[type, Any] = {
    LlmRequestStarted: _asked,
    LlmResponseDelta: _delta,
    LlmResponseFinished: _answered,
    LlmUsage: _used,
    ToolCallRequested: _called,
    ToolCallStarted: _begun,
    ToolCallFinished: _finished,
    RunStarted: _started,
    RunAdopted: _adopted,
    ContextCompacted: _compacted,
    ContextRecoveryDecided: _decided,
    PlanUpdated: _planned,
    HistoryLoaded: _remembered,
    SkillCatalogOffered: _offered,
    SkillInjected: _taught,
    SkillUnloaded: _unloaded,
    ImagesAttached: _shown,
    InboxReceived: _steered,
    OutputRejected: _rejected,
}

READS = frozenset({*_CHANGES, *CLOSING})
"""The payloads this projection looks at."""
