"""Pure folds of events: state, conversation, timeline, usage, pending, metrics."""

from skills_runtime.projections.actions import Move, Moves
from skills_runtime.projections.approvals import Approvals, PendingApproval, SentDecision, Settled
from skills_runtime.projections.conversation import CLOSING, Call, Content, Conversation, Message
from skills_runtime.projections.files import FileRecord, FileRecords
from skills_runtime.projections.metrics import Metrics, Timeline, UsageTotals
from skills_runtime.projections.pending import CONTEXT, Pending, PendingQuestion
from skills_runtime.projections.state import Child, RunState, number_of
from skills_runtime.projections.view import VIEW_KIND, Projection, RunView, fold

__all__ = [
    "CLOSING",
    "CONTEXT",
    "VIEW_KIND",
    "Approvals",
    "Call",
    "Child",
    "Content",
    "Conversation",
    "FileRecord",
    "FileRecords",
    "Message",
    "Metrics",
    "Move",
    "Moves",
    "Pending",
    "PendingApproval",
    "PendingQuestion",
    "Projection",
    "RunState",
    "RunView",
    "SentDecision",
    "Settled",
    "Timeline",
    "UsageTotals",
    "fold",
    "number_of",
]
