"""An agent that delegates part of its task to a sub-agent: a separate run with fewer tools."""

import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from skills_runtime import Agent, ChildProfile
from skills_runtime.llm import ChatRequest, ChatStreamEvent
from skills_runtime.testing import calls, says


class ScriptedModel:
    """Answers for both runs: the parent spawns and waits, the sub-agent answers."""

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the next answer."""
        results = [json.loads(str(message["content"])) for message in request.messages if message["role"] == "tool"]
        if not any(tool["name"] == "spawn_agent" for tool in request.tools):
            answer = says("The notes are about whales.")
        elif not results:
            answer = calls("spawn_agent", message="What are the notes about?", agent_type="reader")
        elif len(results) == 1:
            answer = calls("wait", ids=[results[0]["data"]["id"]])
        else:
            answer = says(f"My reader says: {results[1]['data']['results'][0]['final_output']}")
        for event in answer.events:
            yield event


def main(workspace: str) -> None:
    agent = Agent(
        workspace_root=workspace,
        backend=ScriptedModel(),
        session_settings={"safety": {"mode": "allow"}},
        child_profile_map={"reader": ChildProfile(tools=frozenset({"read_file"}))},
    )
    result = agent.run("Summarize the notes.")
    print(result.final_output)
    print("runs:", len(list(Path(result.wal_locator).parent.parent.iterdir())))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(directory)
