"""Replay a run: the same loop, with the recorded answers of the model and results of the tools.

Nothing is executed and the user is not asked: a difference shows what today's code would do differently.
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
"""What completes a run after a user's decision."""
UNREPLAYED_LIMITS = ("run.max_wall_time_sec", "run.max_tokens", "run.max_cost_usd", "run.max_tool_calls")
"""Limits that a replay does not consume, or not completely: calls of runs that share the budget are missing."""
REPRODUCIBLE_FAILURES = frozenset({"validation", "approval_denied"})
"""Failures that follow from the recorded messages and calls."""
INITIAL_PAYLOADS = (HistoryLoaded, ImagesAttached, SkillInjected)
"""What a run is given before the first model request."""


def was_ended_from_outside(events: Iterable[Event]) -> bool:
    """Return whether a user, a timeout or a service ended the run, which nothing recorded would repeat."""
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
    """Return the limits of the settings plus the increases by users; the run has used `settled` calls."""
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
    """Repeats recorded decisions; approves no call without one."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._decisions = {
            event.payload.call_id: event.payload for event in events if isinstance(event.payload, ApprovalDecided)
        }

    async def request_approval(
        self, *, request: ApprovalRequest, timeout_ms: int | None = None
    ) -> DecisionKind | Decision:
        """Return the recorded decision."""
        decision = self._decisions.get(request.call_id)
        if decision is None:
            return "denied"
        return Decision(decision=cast("DecisionKind", decision.decision), note=decision.note)


class RecordedHuman:
    """Repeats recorded answers to the loop's own questions."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._answers = {
            event.payload.call_id: event.payload for event in events if isinstance(event.payload, HumanResponse)
        }

    async def ask(self, question: Question, *, call_id: str, timeout_ms: int | None = None) -> str:
        """Return the recorded answer; an unanswered question ends the replay."""
        response = self._answers.get(call_id)
        if response is None:
            raise Parked(call_id)
        return response.answers.get(question.id, response.answer)


class RecordedInbox:
    """Delivers recorded messages when the replay has progressed as far as the run had."""

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
                    # Older versions replaced the task of a resumed run: to the loop that is a message.
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
        """Return the skills that a message injected at the time."""
        return self._skills.get(message.id, ())

    def follow(self, conversation: Conversation) -> None:
        """Note how far the replay has progressed."""
        self._current = conversation

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Refuse: a recording receives no new messages."""
        raise ValidationFailed("a replay takes no messages")

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """Return the messages that had arrived by now."""
        current = _progress(self._current)
        return [message for past, message in self._messages if past <= current]

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Deliver a message only once."""
        self._messages = [(past, message) for past, message in self._messages if message.id != message_id]


def _progress(conversation: Conversation) -> tuple[int, ...]:
    """Return counters that grow as a run progresses, so that two moments can be ordered."""
    return conversation.answers, conversation.finished_calls, conversation.rejections


class RecordedCalls(msgspec.Struct, frozen=True):
    """Results of calls, by their ids."""

    results: dict[str, ToolResult] = {}
    skills: dict[str, list[Payload]] = {}
    """The events of skills that a call started or ended."""


class RecordedTool:
    """Answers every call with its recorded result."""

    def __init__(self, spec: ToolSpec, recorded: "RecordedCalls") -> None:
        self.spec = msgspec.structs.replace(spec, recovery="retry")  # of one under way at a fork it is known what came
        self._recorded = recorded

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Return the recorded result of this call and its skill events; without one the replay ends."""
        for payload in self._recorded.skills.get(context.call_id, ()):
            context.emit(payload)
        try:
            return self._recorded.results[context.call_id]
        except KeyError:
            raise Parked(context.call_id) from None


class DescribingRecordedTool(RecordedTool):
    """A recorded tool that also describes its calls, so that today's policy sees the same intent."""

    def __init__(self, tool: DescribingTool, recorded: RecordedCalls) -> None:
        super().__init__(tool.spec, recorded)
        self._tool = tool

    async def intent(self, arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        """Return what the call would do, as far as the recording has it."""
        try:
            return await self._tool.intent(arguments, context)
        except ToolError:
            return Intent()


def build_recorded_tools(paths: RunPaths, conversation: Conversation) -> Registry:
    """Build the tools that a conversation has used, and the built-in ones."""
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
    # The declarations of the tools decide whether calls ran in parallel.
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
    """Return the skill events of each call: an event belongs to the call of its step."""
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
    """The first action that differs; one side is empty if it had already ended."""

    number: int
    recorded: str | None
    replayed: str | None


async def replay(root: Path, resolved: "Resolved") -> Divergence | None:
    """Run the recording again and compare the actions; a fork continues from where it was forked."""
    paths = RunPaths(root.resolve())
    if not any(isinstance(event.payload, RunStarted) for event in read_events(paths)):
        return None  # it ended or waits before its first turn
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
    """Create a new run with the inputs of the recorded one."""
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
    """Return the task that the run answered first: in old logs it may have replaced an unanswered one."""
    conversation = Conversation()
    for event in read_events(paths):
        conversation.apply(event)
        if conversation.answers:
            break
    return conversation.task


def first_divergence(recorded: Actions, replayed: Actions) -> Divergence | None:
    """Return the first difference of two runs; an interrupted recording is compared up to its end."""
    is_finished = bool(recorded.end)
    for number, (expected, actual) in enumerate(zip_longest(recorded.to_list(), replayed.to_list()), start=1):
        if expected is None and not is_finished:
            return None
        if expected is None or not expected.is_same_as(actual):
            return Divergence(number, str(expected) if expected else None, str(actual) if actual else None)
    return None
