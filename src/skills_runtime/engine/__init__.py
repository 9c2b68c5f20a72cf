"""The application layer: `RunService` over runs, and the dispatcher that works on them."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.engine.agent_factory import Interaction, Model, model_problem
    from skills_runtime.engine.approvals import (
        LASTING,
        ApprovalAnswer,
        OpenApproval,
        approve_with_rule,
        card,
        rule_file_of,
        rule_for,
    )
    from skills_runtime.engine.demo import check_demo_sandbox, demo_request, is_scripted, read_demo
    from skills_runtime.engine.disk_usage import Storage, measured
    from skills_runtime.engine.dispatcher import Dispatcher, InlineDispatcher, OpenedRun, RunHost
    from skills_runtime.engine.executions import LOG_FILES, ExecutionOptions, Executions
    from skills_runtime.engine.log_tail import BATCH_BYTES, Frame, LogTail
    from skills_runtime.engine.policy_check import explain_call, explain_command, judged
    from skills_runtime.engine.recorded_run import RecordedRun, record_document
    from skills_runtime.engine.recovery import why_orphaned
    from skills_runtime.engine.run_control import RunControl, chosen_answer
    from skills_runtime.engine.run_import import MAX_ARCHIVE_BYTES, import_run
    from skills_runtime.engine.run_index import read_row, refresh, row_of, workspace_roots
    from skills_runtime.engine.run_reader import RunFilter, RunReader
    from skills_runtime.engine.run_requests import RunOverrides, RunRequest, allowed_choices, source_settings
    from skills_runtime.engine.run_service import CreatedRun, RunService, ServiceLimits, StillWorking, open_run_service
    from skills_runtime.engine.sessions import Session, Sessions
    from skills_runtime.engine.skill_operations import (
        AgreedSkills,
        InstallOptions,
        PreparedSkills,
        SkillDraft,
        SkillOperations,
    )
    from skills_runtime.engine.skill_trials import AgentTrials, close_backend
    from skills_runtime.engine.workspace import Workspace

__getattr__ = lazy_names(
    __name__,
    {
        "agent_factory": "Interaction Model model_problem",
        "approvals": "ApprovalAnswer LASTING OpenApproval approve_with_rule card rule_file_of rule_for",
        "demo": "check_demo_sandbox demo_request is_scripted read_demo",
        "disk_usage": "Storage measured",
        "dispatcher": "Dispatcher InlineDispatcher OpenedRun RunHost",
        "executions": "ExecutionOptions Executions LOG_FILES",
        "log_tail": "BATCH_BYTES Frame LogTail",
        "policy_check": "explain_call explain_command judged",
        "recorded_run": "RecordedRun record_document",
        "recovery": "why_orphaned",
        "run_control": "RunControl chosen_answer",
        "run_import": "MAX_ARCHIVE_BYTES import_run",
        "run_index": "read_row refresh row_of workspace_roots",
        "run_reader": "RunFilter RunReader",
        "run_requests": "RunOverrides RunRequest allowed_choices source_settings",
        "run_service": "CreatedRun RunService ServiceLimits StillWorking open_run_service",
        "sessions": "Session Sessions",
        "skill_operations": "AgreedSkills InstallOptions PreparedSkills SkillDraft SkillOperations",
        "skill_trials": "AgentTrials close_backend",
        "workspace": "Workspace",
    },
)

__all__ = [
    "BATCH_BYTES",
    "LASTING",
    "LOG_FILES",
    "MAX_ARCHIVE_BYTES",
    "AgentTrials",
    "AgreedSkills",
    "ApprovalAnswer",
    "CreatedRun",
    "Dispatcher",
    "ExecutionOptions",
    "Executions",
    "Frame",
    "InlineDispatcher",
    "InstallOptions",
    "Interaction",
    "LogTail",
    "Model",
    "OpenApproval",
    "OpenedRun",
    "PreparedSkills",
    "RecordedRun",
    "RunControl",
    "RunFilter",
    "RunHost",
    "RunOverrides",
    "RunReader",
    "RunRequest",
    "RunService",
    "ServiceLimits",
    "Session",
    "Sessions",
    "SkillDraft",
    "SkillOperations",
    "StillWorking",
    "Storage",
    "Workspace",
    "allowed_choices",
    "approve_with_rule",
    "card",
    "check_demo_sandbox",
    "chosen_answer",
    "close_backend",
    "demo_request",
    "explain_call",
    "explain_command",
    "import_run",
    "is_scripted",
    "judged",
    "measured",
    "model_problem",
    "open_run_service",
    "read_demo",
    "read_row",
    "record_document",
    "refresh",
    "row_of",
    "rule_file_of",
    "rule_for",
    "source_settings",
    "why_orphaned",
    "workspace_roots",
]
