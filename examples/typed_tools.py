"""Python functions as tools: arguments are validated and typed, and calls that only read run in parallel."""

import tempfile
from pathlib import Path

from pydantic import BaseModel

from skills_runtime import Agent, tool
from skills_runtime.testing import FakeModel, calls, says


class City(BaseModel):
    """A city in a country."""

    name: str
    country: str = "CN"


@tool(effect="read", timeout_sec=10)
async def population(city: City) -> int:
    """Return how many people live in a city."""
    return 100 * len(city.name) + len(city.country)


MODEL = FakeModel(
    [
        [calls("population", city={"name": "A"}), calls("population", city={"name": "B"})],
        says("Both are small."),
    ]
)

with tempfile.TemporaryDirectory() as directory:
    agent = Agent(workspace_root=Path(directory), backend=MODEL, tools=[population])
    for event in agent.run_stream("Which city is larger?"):
        print(event.seq, event.type)
