"""How often mode `auto` asks: rarely about an ordinary day, always about what does harm.

`docs/how-to/approvals.md` shows the result as a table.
"""

import asyncio
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.unit.safety.policy.fatigue import EDITS, EVERYDAY, HARMFUL, Case, decide_case

PAGE = ROOT / "docs" / "how-to" / "approvals.md"
MOST_QUESTIONS = 8


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Case]]:
    workspace, home = tmp_path_factory.mktemp("workspace").resolve(), tmp_path_factory.mktemp("home").resolve()

    async def decide_all() -> dict[str, list[Case]]:
        groups = {"commands": EVERYDAY, "edits": EDITS, "harmful": HARMFUL}
        return {name: [await decide_case(call, workspace, home) for call in calls] for name, calls in groups.items()}

    return asyncio.run(decide_all())


def test_the_lists_are_as_long_as_they_claim() -> None:
    assert (len(set(EVERYDAY)), len(EDITS), len({str(call) for call in HARMFUL})) == (60, 20, 40)


def test_an_ordinary_day_asks_in_at_most_eight_cases(cases: dict[str, list[Case]]) -> None:
    decisions = [case.decision for case in (*cases["commands"], *cases["edits"])]
    assert "deny" not in decisions
    assert decisions.count("ask") <= MOST_QUESTIONS


def test_nothing_harmful_passes(cases: dict[str, list[Case]]) -> None:
    assert [case.text for case in cases["harmful"] if case.decision == "allow"] == []


@pytest.mark.parametrize("call", [*EVERYDAY[:3], EDITS[0]])
def test_the_same_day_asks_everything_without_the_default(call: object, tmp_path: Path, home: Path) -> None:
    decided = asyncio.run(decide_case(call, tmp_path, home, mode="ask"))  # pyright: ignore[reportArgumentType]
    assert decided.decision == "ask"


def test_the_table_in_the_documentation_shows_these_decisions(cases: dict[str, list[Case]]) -> None:
    table = render_table(cases)
    assert table in PAGE.read_text(), f"put this into {PAGE.name}:\n\n{table}"


def render_table(cases: dict[str, list[Case]]) -> str:
    names = {"commands": "ordinary commands", "edits": "edits of files", "harmful": "harmful calls"}
    rows = ["| calls | number | pass | ask | refused |", "|---|---|---|---|---|"]
    for group, name in names.items():
        counts = [[case.decision for case in cases[group]].count(kind) for kind in ("allow", "ask", "deny")]
        rows.append(f"| {name} | {sum(counts)} | {counts[0]} | {counts[1]} | {counts[2]} |")
    rows += ["", "| ordinary call that asks | because it |", "|---|---|"]
    ordinary = (*cases["commands"], *cases["edits"])
    rows += [f"| {escape(case.text)} | {case.reason} |" for case in ordinary if case.decision == "ask"]
    rows += ["", "| harmful call | decision | reason |", "|---|---|---|"]
    rows += [f"| {escape(case.text)} | {case.decision} | {case.reason} |" for case in cases["harmful"]]
    return "\n".join(rows)


def escape(text: str) -> str:
    return text.replace("|", "\\|")
