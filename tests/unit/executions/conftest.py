"""Executors in both ways: with processes that wait, and with a new one for each execution."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Protocol

import pytest

from skills_runtime.executions import Executor
from skills_runtime.skills import Skill
from tests.unit.executions.samples import an_executor, make_skill


class MakeSkill(Protocol):
    """Makes a skill of one file."""

    def __call__(self, code: str, *, name: str = ..., runtime: str = ..., **fields: object) -> Skill:
        """The skill."""
        ...


@pytest.fixture(params=["warm", "fresh"])
def manner(request: pytest.FixtureRequest) -> str:
    """Whether processes may wait for executions."""
    return request.param


@pytest.fixture
def skill(tmp_path: Path, manner: str) -> MakeSkill:
    """Makes a skill that runs in the manner of the test."""

    def make(code: str, *, name: str = "tried", runtime: str = "python", **fields: object) -> Skill:
        return make_skill(tmp_path, code, name=name, runtime=runtime, warm=manner == "warm", **fields)

    return make


@pytest.fixture
async def executor(tmp_path: Path) -> AsyncGenerator[Executor]:
    """An executor with a place of its own."""
    async with an_executor(tmp_path) as made:
        yield made
