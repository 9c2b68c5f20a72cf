"""Comparing runs that repeat themselves, or say very much, takes neither minutes nor all memory."""

from skills_runtime.projections.actions import Action
from skills_runtime.service.routes.runs import MAX_ACTIONS, MAX_PAIRS, build_rows, count_pairs


def test_runs_that_repeat_two_moves_are_compared_roughly() -> None:
    actions = [Action("call", name) for name in ("x", "y") * (MAX_ACTIONS // 2)]
    other = [Action("call", name) for name in ("x", "x", "y", "y") * (MAX_ACTIONS // 4)]
    texts = [str(move) for move in actions], [str(move) for move in other]
    assert count_pairs(*texts) > MAX_PAIRS
    rows = build_rows(actions, other, texts, 10)  # took minutes when every pair was looked at
    assert sum(len(row["a"]) for row in rows) == MAX_ACTIONS
    assert sum(len(row["b"]) for row in rows) == MAX_ACTIONS


def test_short_runs_that_repeat_themselves_are_compared_exactly() -> None:
    actions = [Action("call", "x")] * 100
    other = [*actions, Action("call", "y")]
    texts = [str(move) for move in actions], [str(move) for move in other]
    assert [row["op"] for row in build_rows(actions, other, texts, 10)] == ["equal", "insert"]
