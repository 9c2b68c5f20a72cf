"""One symbol, one word and one colour for each state, so that no state is told by its colour alone."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from rich.text import Text

from skills_runtime.events.states import RunStatus


class Sign(NamedTuple):
    """How a state looks."""

    symbol: str
    word: str
    style: str


STATUS: Mapping[str, Sign] = MappingProxyType(
    {
        RunStatus.PENDING: Sign("○", "pending", "dim"),
        RunStatus.RUNNING: Sign("▸", "running", "magenta"),
        RunStatus.WAITING_FOR_TOOL: Sign("◇", "waiting for a tool", "magenta"),
        RunStatus.WAITING_FOR_USER: Sign("◆", "waiting for you", "cyan"),
        RunStatus.REVIEW_REQUIRED: Sign("◆", "review required", "cyan"),
        RunStatus.REVISION_REQUIRED: Sign("◇", "revision required", "cyan"),
        RunStatus.COMPLETED: Sign("✓", "completed", "green"),
        RunStatus.FAILED: Sign("✗", "failed", "red"),
        RunStatus.CANCELLED: Sign("■", "cancelled", "dim"),
    }
)


WAITING: Mapping[str, Sign] = MappingProxyType(
    {
        "human_required": Sign("◆", "asks you", "cyan"),
        "budget_exceeded": Sign("◆", "limit reached", "cyan"),
        "stopped": Sign("◇", "stopped", "cyan"),
    }
)
"""What a run waits for, where that is known."""


def sign_of(status: str, waiting_kind: str | None = None) -> Sign:
    """How a state looks; a run that waits says what for."""
    waiting = WAITING.get(waiting_kind or "") if status == RunStatus.WAITING_FOR_USER else None
    return waiting or STATUS[status]


def signed(status: str, waiting_kind: str | None = None) -> Text:
    """A state as a symbol and a word."""
    sign = sign_of(status, waiting_kind)
    return Text(f"{sign.symbol} {sign.word}", style=sign.style)
