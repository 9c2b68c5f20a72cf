"""What a list tells of runs besides what the index knows: cost, skills and how long they took."""

import threading
from collections import OrderedDict
from typing import Any

import msgspec
from fastapi import Request

from skills_runtime.clock import SystemClock
from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ledger import RunRow
from skills_runtime.runs import LogPorts, RunPaths, read_view
from skills_runtime.runs.imported import was_imported
from skills_runtime.service.answers import runs_of
from skills_runtime.service.run_documents import duration_ms

KEPT = 4096


class Summary(msgspec.Struct, frozen=True):
    """What the log of a run says that the index does not hold."""

    last_seq: int
    cost_usd: float = 0.0
    skills: tuple[str, ...] = ()
    imported: bool = False


class Summaries:
    """Looks into logs once for each state that the index has seen, and remembers."""

    def __init__(self, ports: LogPorts) -> None:
        self._ports = ports
        self._known: OrderedDict[str, Summary] = OrderedDict()
        self._lock = threading.Lock()

    def about(self, row: RunRow, paths: RunPaths) -> dict[str, Any]:
        """The rest of a row; a run that cannot be read has none."""
        summary = self._of(row, paths)
        until = row.completed_at or (row.updated_at if row.status.terminal else SystemClock().now())
        return {
            "cost_usd": summary.cost_usd,
            "skills": list(summary.skills),
            "imported": summary.imported,
            "duration_ms": duration_ms(row.started_at, until),
        }

    def _of(self, row: RunRow, paths: RunPaths) -> Summary:
        with self._lock:
            known = self._known.get(row.run_id)
            if known is not None and known.last_seq == row.last_seq:
                self._known.move_to_end(row.run_id)
                return known
        try:
            view = read_view(paths, self._ports)
            skills = tuple(view.conversation.skills)
            found = Summary(row.last_seq, view.state.cost_usd, skills, was_imported(paths))
        except (SkillsRuntimeError, OSError):
            found = Summary(row.last_seq)
        with self._lock:
            self._known[row.run_id] = found
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return found


def summaries_of(request: Request) -> Summaries:
    """The memory of the service of a request."""
    state = request.app.state
    if not hasattr(state, "summaries"):
        state.summaries = Summaries(runs_of(request).ports)
    return state.summaries
