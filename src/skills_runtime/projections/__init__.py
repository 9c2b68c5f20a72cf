"""Pure folds of events: state, conversation, timeline, usage, pending, metrics."""

from skills_runtime.projections.conversation import Conversation
from skills_runtime.projections.files import FileRecord, FileRecords
from skills_runtime.projections.fold import Projection, fold
from skills_runtime.projections.messages import Call, Content, Message
from skills_runtime.projections.metrics import Metrics
from skills_runtime.projections.moves import Move, Moves
from skills_runtime.projections.pending import Pending
from skills_runtime.projections.state import RunState
from skills_runtime.projections.timeline import Timeline
from skills_runtime.projections.usage import UsageTotals
from skills_runtime.projections.view import VIEW_KIND, RunView

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
