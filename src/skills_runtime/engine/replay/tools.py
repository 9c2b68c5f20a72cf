"""The tools of a recorded run: every call is answered as it was answered then."""

from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

import msgspec

from skills_runtime.agent.unmade import no_such_tool
from skills_runtime.errors import ToolError
from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import SkillInjected, SkillUnloaded, ToolCallRequested, ToolCallStarted
from skills_runtime.ports import DescribingTool, Effect, Intent, Parked, Tool, ToolContext, ToolResult, ToolSpec
from skills_runtime.projections import Conversation
from skills_runtime.runs import RunPaths, blobs_of, whole_history
from skills_runtime.tools import Registry, builtin_tools


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
            kept = message.result.blob if message.result.blob and blobs.reaches(message.result.blob) else None
            data = msgspec.json.decode(blobs.get(kept)) if kept else message.result.data
            results[message.call_id] = msgspec.convert(data, ToolResult)
    known = {tool.spec.name: tool for tool in builtin_tools()}
    named = {call.id: call.tool for message in conversation.messages for call in message.calls}
    missing = {name for call_id, name in named.items() if results.get(call_id) == no_such_tool(name)}
    calls = RecordedCalls(results, _skills_of_calls(whole_history(paths)))
    offered = {*named.values(), *known} - missing
    effects = _effects(whole_history(paths))
    return Registry(*(_recorded(known.get(name) or _unknown(name, effects), calls) for name in sorted(offered)))


def _effects(events: Iterable[Event]) -> dict[str, Effect]:
    """What tools have declared, which says whether their calls were made side by side with others."""
    begun = (event.payload for event in events if isinstance(event.payload, ToolCallStarted))
    return {one.tool: cast("Effect", one.effect) for one in begun if one.effect in get_args(Effect)}


def _unknown(name: str, effects: Mapping[str, Effect]) -> ToolSpec:
    """What is known of a tool that is not here."""
    schema = {"type": "object"}
    return ToolSpec(name=name, description=name, parameters=schema, effect=effects.get(name, "effectful"))


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


def _recorded(tool: Tool | ToolSpec, calls: RecordedCalls) -> RecordedTool:
    if hasattr(tool, "intent"):
        return DescribedTool(cast("DescribingTool", tool), calls)
    return RecordedTool(tool if isinstance(tool, ToolSpec) else tool.spec, calls)
