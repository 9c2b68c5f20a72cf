"""The seams: what the engine needs from outside, as Protocols, with the values that cross them.

Adapters live in their own rooms; fakes for tests are in `skills_runtime.testing`.
"""

from skills_runtime.ports.children import Children, ChildStatus
from skills_runtime.ports.files import DirectoryListing, FileChange, FileEntry, FileKind, Files
from skills_runtime.ports.grants import Grant, LimitName, RaisedLimit
from skills_runtime.ports.intent import FileTouch, Intent, Touch
from skills_runtime.ports.model import Backend, ChatRequest, ChatStreamEvent, ToolCall, ToolCallDelta
from skills_runtime.ports.people import (
    ApprovalRequest,
    Approver,
    Choice,
    Decision,
    DecisionKind,
    HumanIO,
    Inbox,
    InboxKind,
    InboxMessage,
    Question,
)
from skills_runtime.ports.sandbox import (
    ControlGroup,
    Egress,
    Enclosure,
    KernelLimits,
    ProcessRequest,
    Sandbox,
    SandboxPermissions,
    SandboxPlan,
    Watch,
)
from skills_runtime.ports.secrets import Secrets, SecretStream
from skills_runtime.ports.system import Clock, Disk, Ids
from skills_runtime.ports.tools import (
    Closing,
    DescribingTool,
    Effect,
    Parked,
    PreviewingTool,
    Recovery,
    Scope,
    Tool,
    ToolContext,
    ToolResult,
    ToolSpec,
    VerifyingTool,
)

__all__ = [
    "ApprovalRequest",
    "Approver",
    "Backend",
    "ChatRequest",
    "ChatStreamEvent",
    "ChildStatus",
    "Children",
    "Choice",
    "Clock",
    "Closing",
    "ControlGroup",
    "Decision",
    "DecisionKind",
    "DescribingTool",
    "DirectoryListing",
    "Disk",
    "Effect",
    "Egress",
    "Enclosure",
    "FileChange",
    "FileEntry",
    "FileKind",
    "FileTouch",
    "Files",
    "Grant",
    "HumanIO",
    "Ids",
    "Inbox",
    "InboxKind",
    "InboxMessage",
    "Intent",
    "KernelLimits",
    "LimitName",
    "Parked",
    "PreviewingTool",
    "ProcessRequest",
    "Question",
    "RaisedLimit",
    "Recovery",
    "Sandbox",
    "SandboxPermissions",
    "SandboxPlan",
    "Scope",
    "SecretStream",
    "Secrets",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolContext",
    "ToolResult",
    "ToolSpec",
    "Touch",
    "VerifyingTool",
    "Watch",
]
