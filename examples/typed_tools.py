"""Python functions as tools: arguments are validated and typed, and calls that only read run side by side."""

import tempfile
from pathlib import Path

from pydantic import BaseModel

from skills_runtime.agent import Agent
from skills_runtime.llm import FakeChatBackend, FakeChatCall
from skills_runtime.ports import ChatStreamEvent, ToolCall


class City(BaseModel):
    """A place with a name."""

    name: str
    country: str = "CN"


ASK = [
    ToolCall(id=f"call_{name}", name="population", arguments=f'{{"city": {{"name": "{name}"}}}}') for name in ("A", "B")
]
SCRIPT = [
    FakeChatCall(events=[ChatStreamEvent(type="tool_calls", tool_calls=ASK)]),
    FakeChatCall(events=[ChatStreamEvent(type="text_delta", text="Both are small.")]),
]

with tempfile.TemporaryDirectory() as directory:
    agent = Agent(workspace_root=Path(directory), backend=FakeChatBackend(SCRIPT))

    @agent.tool(effect="read", timeout_sec=10)
    async def population(city: City) -> int:
        """How many people live in a city."""
        return 100 * len(city.name) + len(city.country)

    for event in agent.run_stream("Which city is larger?"):
        print(event.seq, event.type)
