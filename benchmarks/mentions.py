"""Measure the CPU time of a turn in a run that mentions some of ten thousand skills, next to one without skills."""

import asyncio
from pathlib import Path
from typing import Any

from benchmarks.fixture import directory
from benchmarks.measure import Number, report
from benchmarks.turns import Caller
from skills_runtime.agent import Agent

SKILLS = 10_000
TURNS = 150
AT = 20
ROUNDS = 5
TASK = "Use $[bench].skill-00007 and $skill-00008."


def make(base: Path) -> None:
    for number in range(SKILLS):
        skill_directory = base / "skills" / f"skill-{number:05}"
        skill_directory.mkdir(parents=True)
        text = f"---\nname: skill-{number:05}\ndescription: Does thing {number}.\n---\nDo it.\n"
        (skill_directory / "SKILL.md").write_text(text, encoding="utf-8")


def turn(base: Path, task: str, settings: dict[str, Any]) -> float:
    """Return the milliseconds of one turn of a started run."""
    model = Caller(TURNS)
    session = {"run": {"max_steps": TURNS + 1}, "skills": settings}
    agent = Agent(workspace_root=base, backend=model, session_settings=session)

    @agent.tool(effect="read")
    async def nothing() -> str:  # pyright: ignore[reportUnusedFunction]
        """Do nothing."""
        return "ok"

    result = asyncio.run(agent.run_async(task))
    assert result.status == "completed", result
    return (model.asked[TURNS] - model.asked[AT]) / (TURNS - AT) * 1000


def main() -> None:
    named = {
        "spaces": [{"id": "s", "namespace": "bench", "sources": ["f"]}],
        "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    }
    with directory() as base:
        make(base)
        pairs = [(turn(base, TASK, named), turn(base, "go", {})) for _ in range(ROUNDS)]
    mentioned, plain = (min(column) for column in zip(*pairs, strict=True))
    report(
        Number("turn of a run that mentions two of 10,000 skills, CPU", mentioned, "ms", 0.35, "at most"),
        Number("the same over a turn without skills", mentioned / plain, "x", 1.25, "at most"),
    )


if __name__ == "__main__":
    main()
