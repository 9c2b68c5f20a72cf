"""Pure folds of events: state, conversation, timeline, usage, pending requests, metrics."""

from skills_runtime.projections.actions import Action, Actions
from skills_runtime.projections.approvals import Approvals, PendingApproval, ResolvedApproval, SentDecision
from skills_runtime.projections.conversation import CLOSING, Call, Content, Conversation, Message
from skills_runtime.projections.files import FileRecord, FileRecords
from skills_runtime.projections.metrics import Metrics, Timeline, UsageTotals
from skills_runtime.projections.pending import CONTEXT_RECOVERY, Pending, PendingQuestion
from skills_runtime.projections.state import Child, RunState, parse_number
from skills_runtime.projections.view import VIEW_KIND, Projection, RunView, fold

__all__ = [
    "CLOSING",
    "CONTEXT_RECOVERY",
    "VIEW_KIND",
    "Action",
    "Actions",
    "Approvals",
    "Call",
    "Child",
    "Content",
    "Conversation",
    "FileRecord",
    "FileRecords",
    "Message",
    "Metrics",
    "Pending",
    "PendingApproval",
    "PendingQuestion",
    "Projection",
    "ResolvedApproval",
    "RunState",
    "RunView",
    "SentDecision",
    "Timeline",
    "UsageTotals",
    "fold",
    "parse_number",
]
