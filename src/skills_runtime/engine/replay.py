"""Replaying a run: the same loop, with the answers of the model and the results of the tools it recorded.

Nothing is executed and nobody is asked: what differs is what today's code would do differently.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec

from skills_runtime.agent import (
    Agent,
    AgentOptions,
    RunRequest,
    budget_of,
    log_ports,
    read_recording,
    replay_backend,
    run_spec,
)
from skills_runtime.agent.loop import Budget, missing_tool_result
from skills_runtime.engine.dispatcher import OpenedRun, dispatch_run
from skills_runtime.errors import ToolError, ValidationFailed
from skills_runtime.events import (
    ApprovalDecided,
    BudgetIncreased,
    Event,
    HistoryLoaded,
    HumanResponse,
    ImagesAttached,
    InboxReceived,
    Payload,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    RunWaitingHuman,
    SkillInjected,
    SkillUnloaded,
    ToolCallRequested,
    ToolCallStarted,
)
from skills_runtime.ports import (
    ApprovalRequest,
    Decision,
    DecisionKind,
    DescribingTool,
    Effect,
    InboxKind,
    InboxMessage,
    Intent,
    Parked,
    Question,
    ToolContext,
    ToolResult,
    ToolSpec,
)
from skills_runtime.projections import Actions, Conversation, fold
from skills_runtime.runs import Run, RunPaths, blobs_of, create_run, fork_of, history_before, read_events, whole_history
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

COMPLETED_BY_USER = frozenset({"review", "handoff"})
"""What a run is completed with when somebody decided that it is."""
UNREPLAYED_LIMITS = ("run.max_wall_time_sec", "run.max_tokens", "run.max_cost_usd", "run.max_tool_calls")
"""Limits on what a replay does not use up, or not all of it: of the calls, those of runs with the same budget."""
REPRODUCIBLE_FAILURES = frozenset({"validation", "approval_denied"})
"""Failures that follow from what was said and done."""
INITIAL_PAYLOADS = (HistoryLoaded, ImagesAttached, SkillInjected)
"""What a run is given before its model is asked."""


def was_ended_from_outside(events: Iterable[Event]) -> bool:
    """Whether somebody, a clock or a service ended the run, so that nothing recorded ends it again."""
    ends = [event.payload for event in events if isinstance(event.payload, RunCompleted | RunCancelled | RunFailed)]
    match ends[-1:]:
        case [RunCompleted(metadata=metadata)]:
            return bool(metadata.keys() & COMPLETED_BY_USER)
        case [RunCancelled()]:
            return True
        case [RunFailed(error_kind="budget_exceeded", details=details)]:
            return any(setting in str(details.get("hint")) for setting in UNREPLAYED_LIMITS)
        case [RunFailed(error_kind=kind)]:
            return kind not in REPRODUCIBLE_FAILURES
        case _:
            return False


def budget_with_increases(limits: Budget, events: Iterable[Event], *, settled: int) -> Budget:
    """The limits of the settings, and what people gave the run besides, of which it has used `settled` calls."""
    extra_steps, parked = 0, False
    for event in events:
        match event.payload:
            case BudgetIncreased(extra_steps=more):
                extra_steps += more
            case RunWaitingHuman(error_kind="budget_exceeded"):
                parked = True
            case _:
                pass
    min_calls = settled if parked else 0  # one that has waited at a limit went on with another
    calls = limits.max_tool_calls
    return msgspec.structs.replace(
        limits,
        max_steps=max(limits.max_steps + extra_steps, min_calls),
        max_tool_calls=max(calls, min_calls) if calls is not None else None,
    )


class RecordedApprover:
    """Decides as it was decided then; of a call that nobody was asked about it approves nothing."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._decisions = {
            event.payload.call_id: event.payload for event in events if isinstance(event.payload, ApprovalDecided)
        }

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """The recorded decision."""
        decision = self._decisions.get(request.call_id)
        if decision is None:
            return "denied"
        return Decision(decision=cast("DecisionKind", decision.decision), note=decision.note)


class RecordedHuman:
    """Answers what the loop itself asks as somebody answered it then."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._answers = {
            event.payload.call_id: event.payload for event in events if isinstance(event.payload, HumanResponse)
        }

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """The recorded answer; what nobody has answered goes no further."""
        response = self._answers.get(call_id)
        if response is None:
            raise Parked(call_id)
        return response.answers.get(question.id, response.answer)


class RecordedInbox:
    """Hands out the messages of a recording when the replay has come as far as the run had when they came."""

    def __init__(self, history: Iterable[Event], events: Iterable[Event]) -> None:
        self._current = Conversation()
        self._messages: list[tuple[tuple[int, ...], InboxMessage]] = []
        self._skills: dict[str, list[Payload]] = {}
        past, started, skills = fold(history, Conversation()), False, list[Payload]()
        for event in events:
            match event.payload:
                case SkillInjected() as taught if started and event.step_id is None:
                    skills.append(taught)
                case InboxReceived(kind="steer") as received:
                    self._skills[received.message_id], skills = skills, []
                    self._store(past, received.message_id, received.body)
                case RunStarted(task=task) if started and past.answers and task != past.task:
                    # An older product gave a run another task as it went on: to the loop that is a message.
                    self._store(past, f"task_{event.seq}", {"text": task})
                    past.apply(event)
                case _:
                    past.apply(event)
            started = started or isinstance(event.payload, RunStarted)

    def _store(self, past: Conversation, message_id: str, body: Mapping[str, Any]) -> None:
        position = len(self._messages) + 1
        message = InboxMessage(id=message_id, run_id="", position=position, kind="steer", body=body, created_at="")
        self._messages.append((_progress(past), message))

    def skills_of(self, message: InboxMessage) -> Sequence[Payload]:
        """The skills that a message brought with it then, whatever has become of them since."""
        return self._skills.get(message.id, ())

    def follow(self, conversation: Conversation) -> None:
        """See how far the replay is, which goes on while it is watched."""
        self._current = conversation

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Refuse: nothing new can be said to a recording."""
        raise ValidationFailed("a replay takes no messages")

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """The messages that had come by now."""
        current = _progress(self._current)
        return [message for past, message in self._messages if past <= current]

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Hand a message out only once."""
        self._messages = [(past, message) for past, message in self._messages if message.id != message_id]


def _progress(conversation: Conversation) -> tuple[int, ...]:
    """What a run counts as it goes on: of two moments the later one is greater."""
    return conversation.answers, conversation.finished_calls, conversation.rejections


class RecordedCalls(msgspec.Struct, frozen=True):
    """What came of calls, by their ids."""

    results: dict[str, ToolResult] = {}
    skills: dict[str, list[Payload]] = {}
    """The events of skills that a call began or ended."""


class RecordedTool:
    """Answers every call as it was answered before."""

    def __init__(self, spec: ToolSpec, recorded: "RecordedCalls") -> None:
        self.spec = msgspec.structs.replace(spec, recovery="retry")  # of one under way at a fork it is known what came
        self._recorded = recorded

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """The recorded result of this call, with the skills that it began or ended; without one it goes no further."""
        for payload in self._recorded.skills.get(context.call_id, ()):
            context.emit(payload)
        try:
            return self._recorded.results[context.call_id]
        except KeyError:
            raise Parked(context.call_id) from None


class DescribingRecordedTool(RecordedTool):
    """One that also tells what its calls would do, so that today's rules are asked about the same thing."""

    def __init__(self, tool: DescribingTool, recorded: RecordedCalls) -> None:
        super().__init__(tool.spec, recorded)
        self._tool = tool

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """What the call would do, as far as an old recording still tells it."""
        try:
            return await self._tool.intent(arguments, context)
        except ToolError:
            return Intent()


def build_recorded_tools(paths: RunPaths, conversation: Conversation) -> Registry:
    """The tools that a conversation has used, and those that come along."""
    blobs = blobs_of(paths)
    results: dict[str, ToolResult] = {}
    for message in conversation.messages:
        if message.result is not None:
            blob = message.result.blob if message.result.blob and blobs.is_reachable(message.result.blob) else None
            data = msgspec.json.decode(blobs.get(blob)) if blob else message.result.data
            results[message.call_id] = msgspec.convert(data, ToolResult)
    builtin = {tool.spec.name: tool for tool in builtin_tools()}
    tool_by_call = {call.id: call.tool for message in conversation.messages for call in message.calls}
    missing = {name for call_id, name in tool_by_call.items() if results.get(call_id) == missing_tool_result(name)}
    calls = RecordedCalls(results, _skills_of_calls(whole_history(paths)))
    names = {*tool_by_call.values(), *builtin} - missing
    # What tools have declared says whether their calls were made side by side with others.
    started = (event.payload for event in whole_history(paths) if isinstance(event.payload, ToolCallStarted))
    effects: dict[str, Effect] = {
        payload.tool: cast("Effect", payload.effect) for payload in started if payload.effect in get_args(Effect)
    }

    def build_tool(name: str) -> RecordedTool:
        tool = builtin.get(name)
        if tool is None:
            effect: Effect = effects.get(name, "effectful")
            return RecordedTool(
                ToolSpec(name=name, description=name, parameters={"type": "object"}, effect=effect), calls
            )
        if hasattr(tool, "intent"):
            return DescribingRecordedTool(cast("DescribingTool", tool), calls)
        return RecordedTool(tool.spec, calls)

    return Registry(*(build_tool(name) for name in sorted(names)))


def _skills_of_calls(events: Iterable[Event]) -> dict[str, list[Payload]]:
    """What calls began or ended of skills: an event is that of the call of its step."""
    calls: dict[str, str] = {}
    payloads: dict[str, list[Payload]] = {}
    for event in events:
        step, payload = event.step_id or "", event.payload
        if isinstance(payload, ToolCallRequested):
            calls[step] = payload.call_id
        elif isinstance(payload, SkillInjected | SkillUnloaded) and step in calls:
            payloads.setdefault(calls[step], []).append(payload)
    return payloads


class Divergence(msgspec.Struct, frozen=True):
    """The first move that is not the recorded one; nothing where one side had already ended."""

    number: int
    recorded: str | None
    replayed: str | None


async def replay(root: Path, resolved: "Resolved") -> Divergence | None:
    """Run the recording again and compare the moves; a fork goes on from where it was forked, as it did then."""
    paths = RunPaths(root.resolve())
    if not any(isinstance(event.payload, RunStarted) for event in read_events(paths)):
        return None  # it ended, or waits, before anybody worked on it
    recorded = fold(whole_history(paths), Actions())
    if was_ended_from_outside(whole_history(paths)):
        recorded.end = ""
    inbox = RecordedInbox(history_before(paths), read_events(paths))
    budget = budget_with_increases(
        budget_of(resolved), read_events(paths), settled=recorded.conversation.finished_calls
    )
    options = AgentOptions(
        backend=replay_backend(paths.root, read_recording(paths.root)),
        tools=build_recorded_tools(paths, recorded.conversation),
        inbox=inbox,
        skills_of=inbox.skills_of,
        human=RecordedHuman(read_events(paths)),
        budget=budget,
        approver=RecordedApprover(whole_history(paths)),
    )
    agent = Agent.from_resolved(resolved, options)
    with tempfile.TemporaryDirectory(prefix="skills-runtime-replay-") as directory:
        request = RunRequest(prompt=_first_task(paths), sandbox_path=Path(directory) / "run", fork=fork_of(paths))
        run = _create_copy(paths, resolved, request)
        run.close()

        def open_run() -> OpenedRun:
            resumed = agent.resume(run.paths.root)
            inbox.follow(resumed.view.conversation)  # its progress says which messages have come
            return OpenedRun(resumed, agent)

        if error := await dispatch_run(run.state.run_id, open_run):
            raise error
        replayed = fold(whole_history(run.paths), Actions())
    return first_divergence(recorded, replayed)


def _create_copy(paths: RunPaths, resolved: "Resolved", request: RunRequest) -> Run:
    """A new run that starts from what the recorded one started from, whatever has become of it since."""
    archived = paths.root / "effective-system-prompt.md"
    system = archived.read_bytes().decode() if archived.is_file() else None
    blobs = blobs_of(paths)
    initial = [
        event.payload for event in read_events(paths) if isinstance(event.payload, (*INITIAL_PAYLOADS, RunStarted))
    ]
    start = next((number for number, payload in enumerate(initial) if isinstance(payload, RunStarted)), len(initial))
    later = (payload for payload in initial[start:] if not isinstance(payload, RunStarted | SkillInjected))
    contents = tuple(blobs.get(digest) for payload in initial for digest in _blobs_of(payload))
    beginning = (*initial[:start], *later)
    spec = run_spec(resolved, request, system_prompt=system, beginning=beginning, blobs=contents)
    return create_run(msgspec.structs.replace(spec, link=None), log_ports())  # the workspace never hears of it


def _blobs_of(payload: Payload) -> list[str]:
    match payload:
        case SkillInjected(text_blob=str(digest)):
            return [digest]
        case ImagesAttached(images=images):
            return [image["blob"] for image in images if "blob" in image]
        case _:
            return []


def _first_task(paths: RunPaths) -> str:
    """The task that the run answered first: in old logs it may have replaced one that nobody had answered yet."""
    conversation = Conversation()
    for event in read_events(paths):
        conversation.apply(event)
        if conversation.answers:
            break
    return conversation.task


def first_divergence(recorded: Actions, replayed: Actions) -> Divergence | None:
    """Where two runs part; a recording that was interrupted is compared as far as it goes."""
    is_finished = bool(recorded.end)
    for number, (expected, actual) in enumerate(zip_longest(recorded.to_list(), replayed.to_list()), start=1):
        if expected is None and not is_finished:
            return None
        if expected is None or not expected.is_same_as(actual):
            return Divergence(number, str(expected) if expected else None, str(actual) if actual else None)
    return None
