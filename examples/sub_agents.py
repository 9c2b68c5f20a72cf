"""An agent that hands a part of its work to another: a run of its own, with fewer tools."""

import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from skills_runtime.agent import Agent, ChildProfile
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolCall


class TwoMinds:
    """A model for both: the parent spawns and waits, the child answers."""

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next answer."""
        results = [json.loads(str(one["content"])) for one in request.messages if one["role"] == "tool"]
        if not any(tool["name"] == "spawn_agent" for tool in request.tools):
            yield ChatStreamEvent(type="text_delta", text="The notes are about whales.")
        elif not results:
            yield call("spawn_agent", {"message": "What are the notes about?", "agent_type": "reader"})
        elif len(results) == 1:
            yield call("wait", {"ids": [results[0]["data"]["id"]]})
        else:
            found = results[1]["data"]["results"][0]["final_output"]
            yield ChatStreamEvent(type="text_delta", text=f"My reader says: {found}")
        yield ChatStreamEvent(type="completed", finish_reason="stop")


def call(name: str, arguments: dict[str, object]) -> ChatStreamEvent:
    """A call of a tool."""
    return ChatStreamEvent(
        type="tool_calls", tool_calls=[ToolCall(id=f"call_{name}", name=name, arguments=json.dumps(arguments))]
    )


def main(workspace: str) -> None:
    agent = Agent(
        workspace_root=workspace,
        backend=TwoMinds(),
        session_settings={"safety": {"mode": "allow"}},
        child_profile_map={"reader": ChildProfile(tools=frozenset({"read_file"}))},
    )
    result = agent.run("Sum up the notes.")
    print(result.final_output)
    print("runs:", len(list(Path(result.wal_locator).parent.parent.iterdir())))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(directory)
