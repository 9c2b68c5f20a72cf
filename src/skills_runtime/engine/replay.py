"""Replaying a run: the same loop, with the answers of the model and the results of the tools it recorded.

Nothing is executed and nothing is asked: what differs is what today's code would do differently.
"""

import tempfile
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.agent.assemble import Equipment, RunRequest
from skills_runtime.agent.facade import Agent
from skills_runtime.agent.recorded import recorded_answers
from skills_runtime.errors import ToolError
from skills_runtime.llm import ReplayBackend
from skills_runtime.ports import Tool, ToolContext, ToolResult, ToolSpec
from skills_runtime.projections import Conversation, Moves, fold
from skills_runtime.runs import Blobs, RunPaths, read_events
from skills_runtime.tools import Registry, builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


class Divergence(msgspec.Struct, frozen=True):
    """The first move that is not the recorded one; nothing where one side had already ended."""

    number: int
    recorded: str | None
    replayed: str | None


class RecordedTool:
    """Answers every call as it was answered before."""

    def __init__(self, spec: ToolSpec, results: Mapping[str, ToolResult]) -> None:
        self.spec = spec
        self._results = results

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """The recorded result of this call."""
        try:
            return self._results[context.call_id]
        except KeyError:
            raise ToolError("unknown", "the recording has no result of this call") from None


async def replay(root: Path, resolved: "Resolved") -> Divergence | None:
    """Run the recording again and compare the moves."""
    paths = RunPaths(root.resolve())
    recorded = fold(read_events(paths), Moves())
    backend = ReplayBackend(recorded_answers(paths.root))
    equipment = Equipment(backend=backend, tools=_recorded_tools(paths, recorded.conversation))
    agent = Agent.from_resolved(resolved, equipment)
    with tempfile.TemporaryDirectory(prefix="skills-runtime-replay-") as aside:
        prompt = (paths.root / "prompt.md").read_text(encoding="utf-8")
        run = agent.create(RunRequest(prompt=prompt, sandbox_path=Path(aside) / "run"))
        result = await agent.execute(run)
        replayed = fold(read_events(RunPaths(Path(result.wal_locator).parent)), Moves())
    return first_divergence(recorded, replayed)


def first_divergence(recorded: Moves, replayed: Moves) -> Divergence | None:
    """Where two runs part; a recording that was interrupted is compared as far as it goes."""
    ended = bool(recorded.end)
    for number, (one, other) in enumerate(zip_longest(recorded.all(), replayed.all()), start=1):
        if one is None and not ended:
            return None
        if one != other:
            return Divergence(number, str(one) if one else None, str(other) if other else None)
    return None


def _recorded_tools(paths: RunPaths, conversation: Conversation) -> Registry:
    blobs = Blobs(paths.blobs)
    results: dict[str, ToolResult] = {}
    for message in conversation.messages:
        if message.result is not None:
            kept = message.result.blob if message.result.blob and blobs.has(message.result.blob) else None
            data = msgspec.json.decode(blobs.get(kept)) if kept else message.result.data
            results[message.call_id] = msgspec.convert(data, ToolResult)
    known = {tool.spec.name: tool for tool in builtin_tools()}
    named = {call.tool for message in conversation.messages for call in message.calls}
    return Registry(*(_recorded(known.get(name), name, results) for name in sorted(named | known.keys())))


def _recorded(tool: Tool | None, name: str, results: Mapping[str, ToolResult]) -> RecordedTool:
    spec = tool.spec if tool else ToolSpec(name=name, description=name, parameters={"type": "object"})
    return RecordedTool(spec, results)
