"""What users may import: a change of a package's `__all__` is a change here, made on purpose."""

import ast
import importlib
import textwrap

import pytest

from tests.support import SOURCES
from tests.support.sources import modules

SURFACE = {
    "kgent": """
        RunContext RunStatus create_run_context load_run_context resolve_sandbox_path update_run_state
    """,
    "skills_runtime.agent": """
        Agent AgentBuilder ChildProfile ChildResult Coordinator RunRequest RunResult run_segment
    """,
    "skills_runtime.agent.loop": """
        AgentPorts Control run_segment
    """,
    "skills_runtime.config": """
        Defaults Environment Origin Resolved ResolvedRunConfig Settings config_home explain resolve snapshot state_home
        without_dotenv
    """,
    "skills_runtime.engine": """
        Desk Dispatcher LocalDispatcher read_row refresh row_of workspace_roots
    """,
    "skills_runtime.engine.replay": """
        Divergence replay
    """,
    "skills_runtime.engine.skill_evals": """
        BENCHMARK Bench Case Evaluation OnTrial Place Plan Query Report Suite Trial place_for report_of suite_at
    """,
    "skills_runtime.engine.skill_fetch": """
        SkillFetcher
    """,
    "skills_runtime.events": """
        Event LOG_SCHEMA LOG_VERSION PAYLOAD_TYPES Payload TERMINAL_TYPES Unknown canonical_json data_of decode_event
        decode_payload encode_payload fingerprint
    """,
    "skills_runtime.events.payloads": """
        ApprovalDecided ApprovalRefused ApprovalRequested ArtifactManifestWritten BudgetIncreased ChildRunFinished
        ChildRunStarted CompactionFailed CompactionStarted ContextCompacted ContextLengthExceeded ContextRecoveryDecided
        Descriptor EnvVarRequired EnvVarSet FileOperation ForkPoint HistoryLoaded HumanRequest HumanResponse
        ImagesAttached InboxReceived LOG_SCHEMA LOG_VERSION LlmRequestStarted LlmResponseDelta LlmResponseFinished
        LlmRetryScheduled LlmUsage LogRepaired NetworkDecision OutputRejected PlanUpdated RoutedSkill RunAdopted
        RunCancelled RunCompleted RunCreated RunFailed RunStarted RunStateChanged RunWaitingHuman SandboxCreated
        SkillCatalogOffered SkillExecutionFinished SkillExecutionStarted SkillInjected SkillInjectionSkipped SkillRouted
        SkillUnloaded TERMINAL_TYPES ToolCallFinished ToolCallRequested ToolCallStarted Usage
    """,
    "skills_runtime.executions": """
        Artifact Execution ExecutionLimits Executor Failure Interpreter Packages PoolLimits Record Refused Supplies
        Within stages_in_memory
    """,
    "skills_runtime.ledger": """
        Ledger Problem RebuildReport RunIndex RunRow SessionRow SqliteInbox TaskRow open_ledger rebuild title_of
    """,
    "skills_runtime.llm": """
        Answer FakeChatBackend FakeChatCall OpenAIChatBackend Price RecordedAnswer ReplayBackend RetryPolicy
        RetryingBackend ScriptedBackend Transcriber cost_of fake_backend load_script openai_backend transcribe
    """,
    "skills_runtime.ports": """
        ApprovalRequest Approver Backend ChatRequest ChatStreamEvent ChildStatus Children Choice Clock Closing
        ControlGroup Decision DecisionKind DescribingTool DirectoryListing Disk Effect Egress Enclosure FileChange
        FileEntry FileKind FileTouch Files Grant HumanIO Ids Inbox InboxKind InboxMessage Intent KernelLimits LimitName
        Parked PreviewingTool ProcessRequest Question RaisedLimit Recovery Sandbox SandboxPermissions SandboxPlan Scope
        SecretStream Secrets Tool ToolCall ToolCallDelta ToolContext ToolResult ToolSpec Touch VerifyingTool Watch
    """,
    "skills_runtime.processes": """
        Captured Command EndedBy Finished Limits OnOutput PtySession PutUpBy Reading SessionStatus Sessions Stream
        beginning command_of execute execute_plan shell_command
    """,
    "skills_runtime.projections": """
        Call Content Conversation FileRecord FileRecords Message Metrics Move Moves Pending Projection RunState RunView
        Timeline Transcript UsageTotals VIEW_KIND fold render
    """,
    "skills_runtime.runs": """
        Blobs Deliverable End EventLog Finding KeyRing LogPorts Run RunPaths RunRecord RunSpec RunStatus Verdict
        authenticate blobs_of check_id check_transition create_run export_run files_of finish_run finish_run_async
        follow_lines fork_point is_legal_id keep_artifact open_run parse_status read_events read_record read_verified
        read_view runs_root verify_run whole_history
    """,
    "skills_runtime.runs.files": """
        Entry Listing PathPolicy RunFiles Scan ScanLimits ScannedFile Skipped isolated_policy open_beneath open_root
        resolve scan shared_policy
    """,
    "skills_runtime.runs.log": """
        Authenticity EventLog KeyRing LogKey LogPorts Position RunLock authenticate create_log follow_lines open_log
        read_events read_verified
    """,
    "skills_runtime.safety": """
        Allow ApprovalRule Ask CallbackApprovals Deny Gate InboxApprovals RuleBasedApprovalProvider Rules SafetyMode
        approval_key decide sanitize
    """,
    "skills_runtime.safety.approvals": """
        ApprovalRule Asking CallbackApprovals InboxApprovals Room RuleBasedApprovalProvider ask request_of
        stray_decisions
    """,
    "skills_runtime.safety.guard": """
        Facts LEVELS Level Reading Risk SimpleCommand assess program_name read_argv read_line
    """,
    "skills_runtime.safety.guard.judges": """
        judge_for
    """,
    "skills_runtime.safety.policy": """
        Allow Ask Deny END Example Explanation Part Rule Rules SafetyMode Verdict add_rule approval_key decide explain
        load_rules rule_text
    """,
    "skills_runtime.safety.redaction": """
        Keeper MARK Redactor StreamRedactor secrets_of worth_hiding
    """,
    "skills_runtime.sandbox": """
        CAREFUL Fence NoFence PROFILES Profile ResourceLimits SandboxPolicy Unfenced adapters_for adapters_named
        fence_for own_directories policy_for profile_named
    """,
    "skills_runtime.sandbox.bubblewrap": """
        Bubblewrap
    """,
    "skills_runtime.sandbox.denials": """
        Aftermath Certainty Denial Grant LimitName NoSurroundings RaisedLimit Surroundings ThisMachine What combined
        control_directories denials_of granted refuse_ungrantable why_not_host why_not_path
    """,
    "skills_runtime.sandbox.egress": """
        Account Doorman EgressLimits EgressPolicy EgressPorts EgressRecord Gateway Handover Host PROXY_PORT Refused Rule
        Verdict allow_rule canonical_host decide deny_rule egress_policy egress_proxy is_public proxy_variables
        serve_egress
    """,
    "skills_runtime.sandbox.landlock": """
        Landlock
    """,
    "skills_runtime.sandbox.overlay": """
        Change Difference Layer commit_layer difference_of discard_layer find_layer holding layers_over new_layer
        text_of
    """,
    "skills_runtime.sandbox.seccomp": """
        ARCHITECTURES Permitted seccomp_program
    """,
    "skills_runtime.service.streams": """
        Frame Listener LogTail Streams
    """,
    "skills_runtime.service.work": """
        Home Made Order Wishes Work open_work
    """,
    "skills_runtime.skills": """
        FilesystemSource HistoryRule Injected Library MemorySource Mention MissingVariable Origin Problem PromptParts
        Report Row Rules ScanOptions Skill SkillError Source assemble exposed library_from mentions_in parse_mention
    """,
    "skills_runtime.skills.activation": """
        Named files_of filled identity_of named_skills
    """,
    "skills_runtime.skills.bundles": """
        Budget Bundle Bundles
    """,
    "skills_runtime.skills.catalog": """
        Catalog CatalogReport Level budget_for catalog_delta catalog_of catalog_offered listed model_may_call
        people_may_call tokens_of
    """,
    "skills_runtime.skills.discovery": """
        Discovery Places Root TrustStore discover discovered_sources is_trusted places_of project_root untrusted_spaces
    """,
    "skills_runtime.skills.index": """
        Changes IndexedSource watch_skills
    """,
    "skills_runtime.skills.install": """
        ArchiveLimits Fetched Fetcher Hashed Installed LocalFetcher Lock LockEntry Places Source Wanted consented
        hash_directory installed parse_source project_places read_lock unpack user_places verify
    """,
    "skills_runtime.skills.routing": """
        Choice Routing Rule SkillIndex Tuning index_for index_of packed route routed search unpacked
    """,
    "skills_runtime.skills.scripts": """
        Entry InlineMetadata NotUsable allows entry_of inline_metadata script_in
    """,
    "skills_runtime.skills.security": """
        Finding RULES Rule SecurityReport Severity Skipped Verdict scan_directory
    """,
    "skills_runtime.skills.sources": """
        FilesystemSource MemorySource Origin Report Row ScanOptions Source
    """,
    "skills_runtime.skills.standard": """
        Diagnostic Mode Parsed Properties Severity allowed_tools find_skill_file parse_run parse_skill read_properties
        validate_directory
    """,
    "skills_runtime.testing": """
        CountingIds FaultyDisk FrozenClock InMemoryInbox
    """,
    "skills_runtime.tools": """
        Arguments FunctionTool Registry builtin_tools parse schema_of tool_from
    """,
    "skills_runtime.tools.builtin": """
        ApplyPatch AskHuman CloseAgent ExecCommand FileDelete FileRead FileWrite GrepFiles ListDir ReadFile
        RequestUserInput ResumeAgent SearchProvider SendInput Shell ShellCommand ShellExec SpawnAgent UpdatePlan
        ViewImage Wait WebSearch WriteStdin
    """,
    "skills_runtime.tools.patch": """
        AddFile Change DeleteFile Hunk Line Plan Section UpdateFile make_plan parse_patch patched paths_to_read
    """,
    "skills_runtime.tools.skill_environments": """
        Environments Need need_of
    """,
}
"""The names of each public package; one entry is one package."""


def _packages_with_exports() -> set[str]:
    """Every package whose `__init__.py` assigns `__all__`."""
    return {
        ".".join(module.path.parent.relative_to(SOURCES).parts)
        for module in modules()
        if module.path.name == "__init__.py"
        for node in module.tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    }


def _entry(package: str) -> str:
    """The lines to paste into `SURFACE`."""
    names = textwrap.fill(" ".join(importlib.import_module(package).__all__), width=112)
    return f'    "{package}": """\n{textwrap.indent(names, " " * 8)}\n    """,'


def test_every_package_that_exports_names_is_pinned() -> None:
    missing = sorted(_packages_with_exports() - SURFACE.keys())
    assert not missing, "add to SURFACE:\n" + "\n".join(map(_entry, missing))


@pytest.mark.parametrize("package", SURFACE)
def test_the_names_of_a_package_are_the_pinned_ones(package: str) -> None:
    exported, pinned = set(importlib.import_module(package).__all__), set(SURFACE[package].split())
    assert exported == pinned, (
        f"new: {sorted(exported - pinned)}, gone: {sorted(pinned - exported)}; if meant, edit SURFACE"
    )


@pytest.mark.parametrize("package", SURFACE)
def test_every_exported_name_exists_once(package: str) -> None:
    module = importlib.import_module(package)
    assert len(module.__all__) == len(set(module.__all__))
    assert not [name for name in module.__all__ if not hasattr(module, name)]
