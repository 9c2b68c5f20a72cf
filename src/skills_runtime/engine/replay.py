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
from skills_runtime.projections import Conversation, Moves, fold
from skills_runtime.runs import Run, RunPaths, blobs_of, create_run, fork_of, history_before, read_events, whole_history
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

BY_SOMEBODY = frozenset({"review", "handoff"})
"""What a run is completed with when somebody decided that it is."""
NOT_COUNTED_AGAIN = ("run.max_wall_time_sec", "run.max_tokens", "run.max_cost_usd", "run.max_tool_calls")
"""Limits on what a replay does not use up, or not all of it: of the calls, those of runs with the same budget."""
DECIDED_BY_THE_LOOP = frozenset({"validation", "approval_denied"})
"""Failures that follow from what was said and done."""
BEGINNINGS = (HistoryLoaded, ImagesAttached, SkillInjected)
"""What a run is given before its model is asked."""


def was_ended_from_outside(events: Iterable[Event]) -> bool:
    """Whether somebody, a clock or a service ended the run, so that nothing recorded ends it again."""
    ends = [event.payload for event in events if isinstance(event.payload, RunCompleted | RunCancelled | RunFailed)]
    match ends[-1:]:
        case [RunCompleted(metadata=metadata)]:
            return bool(metadata.keys() & BY_SOMEBODY)
        case [RunCancelled()]:
            return True
        case [RunFailed(error_kind="budget_exceeded", details=details)]:
            return any(setting in str(details.get("hint")) for setting in NOT_COUNTED_AGAIN)
        case [RunFailed(error_kind=kind)]:
            return kind not in DECIDED_BY_THE_LOOP
        case _:
            return False


def with_what_was_given(limits: Budget, events: Iterable[Event], *, settled: int) -> Budget:
    """The limits of the settings, and what people gave the run besides, of which it has used `settled` calls."""
    given, parked = 0, False
    for event in events:
        match event.payload:
            case BudgetIncreased(extra_steps=more):
                given += more
            case RunWaitingHuman(error_kind="budget_exceeded"):
                parked = True
            case _:
                pass
    used = settled if parked else 0  # one that has waited at a limit went on with another
    calls = limits.max_tool_calls
    return msgspec.structs.replace(
        limits,
        max_steps=max(limits.max_steps + given, used),
        max_tool_calls=max(calls, used) if calls is not None else None,
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
        decided = self._decisions.get(request.call_id)
        if decided is None:
            return "denied"
        return Decision(decision=cast("DecisionKind", decided.decision), note=decided.note)


class RecordedPerson:
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

    def __init__(self, before: Iterable[Event], events: Iterable[Event]) -> None:
        self._now = Conversation()
        self._messages: list[tuple[tuple[int, ...], InboxMessage]] = []
        self._skills: dict[str, list[Payload]] = {}
        then, begun, skills = fold(before, Conversation()), False, list[Payload]()
        for event in events:
            match event.payload:
                case SkillInjected() as taught if begun and event.step_id is None:
                    skills.append(taught)
                case InboxReceived(kind="steer") as received:
                    self._skills[received.message_id], skills = skills, []
                    self._keep(then, received.message_id, received.body)
                case RunStarted(task=task) if begun and then.answers and task != then.task:
                    # An older product gave a run another task as it went on: to the loop that is a message.
                    self._keep(then, f"task_{event.seq}", {"text": task})
                    then.apply(event)
                case _:
                    then.apply(event)
            begun = begun or isinstance(event.payload, RunStarted)

    def _keep(self, then: Conversation, message_id: str, body: Mapping[str, Any]) -> None:
        position = len(self._messages) + 1
        message = InboxMessage(id=message_id, run_id="", position=position, kind="steer", body=body, created_at="")
        self._messages.append((_how_far(then), message))

    def skills_of(self, message: InboxMessage) -> Sequence[Payload]:
        """The skills that a message brought with it then, whatever has become of them since."""
        return self._skills.get(message.id, ())

    def watch(self, replay: Conversation) -> None:
        """See how far the replay is, which goes on while it is watched."""
        self._now = replay

    def send(
        self, run_id: str, kind: InboxKind, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> InboxMessage:
        """Refuse: nothing new can be said to a recording."""
        raise ValidationFailed("a replay takes no messages")

    def pending(self, run_id: str) -> Sequence[InboxMessage]:
        """The messages that had come by now."""
        now = _how_far(self._now)
        return [message for then, message in self._messages if then <= now]

    def acknowledge(self, message_id: str, *, event_seq: int) -> None:
        """Hand a message out only once."""
        self._messages = [(then, message) for then, message in self._messages if message.id != message_id]


def _how_far(talk: Conversation) -> tuple[int, ...]:
    """What a run counts as it goes on: of two moments the later one is greater."""
    return talk.answers, talk.settled, talk.rejections


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


class DescribedTool(RecordedTool):
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


def recorded_tools(paths: RunPaths, conversation: Conversation) -> Registry:
    """The tools that a conversation has used, and those that come along."""
    blobs = blobs_of(paths)
    results: dict[str, ToolResult] = {}
    for message in conversation.messages:
        if message.result is not None:
            kept = message.result.blob if message.result.blob and blobs.is_reachable(message.result.blob) else None
            data = msgspec.json.decode(blobs.get(kept)) if kept else message.result.data
            results[message.call_id] = msgspec.convert(data, ToolResult)
    known = {tool.spec.name: tool for tool in builtin_tools()}
    named = {call.id: call.tool for message in conversation.messages for call in message.calls}
    missing = {name for call_id, name in named.items() if results.get(call_id) == missing_tool_result(name)}
    calls = RecordedCalls(results, _skills_of_calls(whole_history(paths)))
    offered = {*named.values(), *known} - missing
    # What tools have declared says whether their calls were made side by side with others.
    started = (event.payload for event in whole_history(paths) if isinstance(event.payload, ToolCallStarted))
    effects: dict[str, Effect] = {
        one.tool: cast("Effect", one.effect) for one in started if one.effect in get_args(Effect)
    }

    def recorded(name: str) -> RecordedTool:
        tool = known.get(name)
        if tool is None:
            effect: Effect = effects.get(name, "effectful")
            return RecordedTool(
                ToolSpec(name=name, description=name, parameters={"type": "object"}, effect=effect), calls
            )
        if hasattr(tool, "intent"):
            return DescribedTool(cast("DescribingTool", tool), calls)
        return RecordedTool(tool.spec, calls)

    return Registry(*(recorded(name) for name in sorted(offered)))


def _skills_of_calls(events: Iterable[Event]) -> dict[str, list[Payload]]:
    """What calls began or ended of skills: an event is that of the call of its step."""
    calls: dict[str, str] = {}
    found: dict[str, list[Payload]] = {}
    for event in events:
        step, payload = event.step_id or "", event.payload
        if isinstance(payload, ToolCallRequested):
            calls[step] = payload.call_id
        elif isinstance(payload, SkillInjected | SkillUnloaded) and step in calls:
            found.setdefault(calls[step], []).append(payload)
    return found


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
    recorded = fold(whole_history(paths), Moves())
    if was_ended_from_outside(whole_history(paths)):
        recorded.end = ""
    inbox = RecordedInbox(history_before(paths), read_events(paths))
    allowed = with_what_was_given(budget_of(resolved), read_events(paths), settled=recorded.conversation.settled)
    equipment = AgentOptions(
        backend=replay_backend(paths.root, read_recording(paths.root)),
        tools=recorded_tools(paths, recorded.conversation),
        inbox=inbox,
        skills_of=inbox.skills_of,
        human=RecordedPerson(read_events(paths)),
        budget=allowed,
        approver=RecordedApprover(whole_history(paths)),
    )
    agent = Agent.from_resolved(resolved, equipment)
    with tempfile.TemporaryDirectory(prefix="skills-runtime-replay-") as aside:
        request = RunRequest(prompt=_first_task(paths), sandbox_path=Path(aside) / "run", fork=fork_of(paths))
        run = _begun_like(paths, resolved, request)
        run.close()

        def open_run() -> OpenedRun:
            opened = agent.resume(run.paths.root)
            inbox.watch(opened.view.conversation)  # its progress says which messages have come
            return OpenedRun(opened, agent)

        if error := await dispatch_run(run.state.run_id, open_run):
            raise error
        replayed = fold(whole_history(run.paths), Moves())
    return first_divergence(recorded, replayed)


def _begun_like(paths: RunPaths, resolved: "Resolved", request: RunRequest) -> Run:
    """A new run that starts from what the recorded one started from, whatever has become of it since."""
    archived = paths.root / "effective-system-prompt.md"
    system = archived.read_bytes().decode() if archived.is_file() else None
    blobs = blobs_of(paths)
    given = [event.payload for event in read_events(paths) if isinstance(event.payload, (*BEGINNINGS, RunStarted))]
    begun = next((number for number, payload in enumerate(given) if isinstance(payload, RunStarted)), len(given))
    later = (payload for payload in given[begun:] if not isinstance(payload, RunStarted | SkillInjected))
    contents = tuple(blobs.get(digest) for payload in given for digest in _blobs_of(payload))
    beginning = (*given[:begun], *later)
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
    talk = Conversation()
    for event in read_events(paths):
        talk.apply(event)
        if talk.answers:
            break
    return talk.task


def first_divergence(recorded: Moves, replayed: Moves) -> Divergence | None:
    """Where two runs part; a recording that was interrupted is compared as far as it goes."""
    ended = bool(recorded.end)
    for number, (one, other) in enumerate(zip_longest(recorded.all(), replayed.all()), start=1):
        if one is None and not ended:
            return None
        if one is None or not one.is_like(other):
            return Divergence(number, str(one) if one else None, str(other) if other else None)
    return None
