"""Two runs side by side, over HTTP: what each said and did that the other did not."""

from collections import Counter
from difflib import SequenceMatcher
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from skills_runtime.projections.actions import Move
from skills_runtime.service.responses import EVERYWHERE, as_json, failures
from skills_runtime.service.run_documents import Answer, RunId
from skills_runtime.service.state import runs_of
from skills_runtime.text import unified_diff

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])

MAX_MOVES = 2_000
"""More of a run is not compared: whoever looks at both reads no further."""
MAX_CHARS = 20_000
MAX_TOTAL = 8_000_000
"""How long all moves may be together; of many long ones each is shown for less."""
MAX_PAIRS = 50_000
"""How many pairs of equal moves are looked at exactly; of more, the most frequent ones are left out of the search."""


class Comparison(Answer):
    """Where two runs are the same and where they differ, leaving out ids and times."""

    a: str
    b: str
    same: bool
    truncated: bool
    unified: list[str]
    rows: list[dict[str, Any]]


@router.get("/{run_id}/diff/{other_id}", response_model=Comparison, responses=failures(*EVERYWHERE, 404, 409))
def compare_runs(request: Request, run_id: RunId, other_id: RunId) -> Response:
    """Compare what two runs said and did, as `runs diff` does."""
    one, other = (runs_of(request).recorded(one).actions() for one in (run_id, other_id))
    lines, other_lines = ([str(move) for move in moves[:MAX_MOVES]] for moves in (one, other))
    chars = min(MAX_CHARS, MAX_TOTAL // max(1, len(lines) + len(other_lines)))
    return as_json(
        {
            "a": run_id,
            "b": other_id,
            "same": [str(move) for move in one] == [str(move) for move in other],
            "truncated": max(len(one), len(other)) > MAX_MOVES,
            "unified": [
                line[:chars] for line in unified_diff(lines, other_lines, (run_id, other_id), context=1, end="")
            ],
            "rows": rows_of(one, other, (lines, other_lines), chars),
        }
    )


def rows_of(one: list[Move], other: list[Move], texts: tuple[list[str], list[str]], chars: int) -> list[dict[str, Any]]:
    """Where two runs are the same and where they differ, in order."""
    matched = SequenceMatcher(None, *texts, autojunk=pairs(*texts) > MAX_PAIRS)
    return [
        {"op": op, "a": _shown(one[a:a_end], chars), "b": _shown(other[b:b_end], chars)}
        for op, a, a_end, b, b_end in matched.get_opcodes()
    ]


def pairs(lines: list[str], other_lines: list[str]) -> int:
    """What an exact comparison costs: two runs that repeat one move a thousand times would take minutes."""
    there = Counter(other_lines)
    return sum(there[line] for line in lines)


def _shown(moves: list[Move], chars: int) -> list[dict[str, str]]:
    return [{"kind": move.kind, "what": move.what[:chars]} for move in moves]
