"""Pure folds of events: state, conversation, timeline, usage, pending, metrics."""

from skills_runtime.projections.actions import Move, Moves
from skills_runtime.projections.conversation import Call, Content, Conversation, Message
from skills_runtime.projections.files import FileRecord, FileRecords
from skills_runtime.projections.metrics import Metrics, Timeline, UsageTotals
from skills_runtime.projections.pending import Pending
from skills_runtime.projections.state import RunState
from skills_runtime.projections.view import VIEW_KIND, Projection, RunView, fold

__all__ = [
    "VIEW_KIND",
    "Call",
    "Content",
    "Conversation",
    "FileRecord",
    "FileRecords",
    "Message",
    "Metrics",
    "Move",
    "Moves",
    "Pending",
    "Projection",
    "RunState",
    "RunView",
    "Timeline",
    "UsageTotals",
    "fold",
]
