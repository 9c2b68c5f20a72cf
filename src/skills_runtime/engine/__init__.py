"""The application layer: `RunService` over runs, and the dispatcher that executes them."""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.engine.agent_factory import Interaction, Model, find_model_problem
    from skills_runtime.engine.approvals import (
        PERSISTENT_SCOPES,
        SCOPE_DECISIONS,
        ApprovalAnswer,
        ApprovalScope,
        OpenApproval,
        approve_with_rule,
        build_approval_view,
        build_rule,
        build_rules,
        read_rules,
        rule_file_of,
    )
    from skills_runtime.engine.demo import build_demo_request, check_demo_sandbox, is_scripted, read_demo
    from skills_runtime.engine.disk_usage import Storage, measure_storage
    from skills_runtime.engine.dispatcher import Dispatcher, InlineDispatcher, OpenedRun, RunHost
    from skills_runtime.engine.doctor import Check, CheckStatus, Diagnosis, diagnose
    from skills_runtime.engine.executions import LOG_FILES, ExecutionOptions, Executions
    from skills_runtime.engine.log_tail import BATCH_BYTES, Frame, LogTail
    from skills_runtime.engine.model_setup import (
        ModelSetup,
        check_configured_model,
        complete_setup,
        find_overridden,
        list_models,
        prepare_setup,
        save_model,
    )
    from skills_runtime.engine.policy_check import describe_decision, explain_call, explain_command
    from skills_runtime.engine.recorded_run import RecordedRun, record_document
    from skills_runtime.engine.recovery import explain_orphaned
    from skills_runtime.engine.run_control import RunControl, resolve_choice
    from skills_runtime.engine.run_deletion import DeletedRuns
    from skills_runtime.engine.run_import import MAX_ARCHIVE_BYTES, import_run
    from skills_runtime.engine.run_index import build_row, read_row, refresh, workspace_roots
    from skills_runtime.engine.run_reader import RunFilter, RunReader
    from skills_runtime.engine.run_requests import RunOverrides, RunRequest, build_source_settings, list_allowed_choices
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
        "agent_factory": "Interaction Model find_model_problem",
        "approvals": (
            "ApprovalAnswer ApprovalScope OpenApproval PERSISTENT_SCOPES SCOPE_DECISIONS approve_with_rule "
            "build_approval_view build_rule build_rules read_rules rule_file_of"
        ),
        "demo": "check_demo_sandbox build_demo_request is_scripted read_demo",
        "disk_usage": "Storage measure_storage",
        "dispatcher": "Dispatcher InlineDispatcher OpenedRun RunHost",
        "doctor": "Check CheckStatus Diagnosis diagnose",
        "executions": "ExecutionOptions Executions LOG_FILES",
        "log_tail": "BATCH_BYTES Frame LogTail",
        "model_setup": (
            "ModelSetup check_configured_model complete_setup find_overridden list_models prepare_setup save_model"
        ),
        "policy_check": "explain_call explain_command describe_decision",
        "recorded_run": "RecordedRun record_document",
        "recovery": "explain_orphaned",
        "run_control": "RunControl resolve_choice",
        "run_deletion": "DeletedRuns",
        "run_import": "MAX_ARCHIVE_BYTES import_run",
        "run_index": "read_row refresh build_row workspace_roots",
        "run_reader": "RunFilter RunReader",
        "run_requests": "RunOverrides RunRequest list_allowed_choices build_source_settings",
        "run_service": "CreatedRun RunService ServiceLimits StillWorking open_run_service",
        "sessions": "Session Sessions",
        "skill_operations": "AgreedSkills InstallOptions PreparedSkills SkillDraft SkillOperations",
        "skill_trials": "AgentTrials close_backend",
        "workspace": "Workspace",
    },
)

__all__ = [
    "BATCH_BYTES",
    "LOG_FILES",
    "MAX_ARCHIVE_BYTES",
    "PERSISTENT_SCOPES",
    "SCOPE_DECISIONS",
    "AgentTrials",
    "AgreedSkills",
    "ApprovalAnswer",
    "ApprovalScope",
    "Check",
    "CheckStatus",
    "CreatedRun",
    "DeletedRuns",
    "Diagnosis",
    "Dispatcher",
    "ExecutionOptions",
    "Executions",
    "Frame",
    "InlineDispatcher",
    "InstallOptions",
    "Interaction",
    "LogTail",
    "Model",
    "ModelSetup",
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
    "approve_with_rule",
    "build_approval_view",
    "build_demo_request",
    "build_row",
    "build_rule",
    "build_rules",
    "build_source_settings",
    "check_configured_model",
    "check_demo_sandbox",
    "close_backend",
    "complete_setup",
    "describe_decision",
    "diagnose",
    "explain_call",
    "explain_command",
    "explain_orphaned",
    "find_model_problem",
    "find_overridden",
    "import_run",
    "is_scripted",
    "list_allowed_choices",
    "list_models",
    "measure_storage",
    "open_run_service",
    "prepare_setup",
    "read_demo",
    "read_row",
    "read_rules",
    "record_document",
    "refresh",
    "resolve_choice",
    "rule_file_of",
    "save_model",
    "workspace_roots",
]
