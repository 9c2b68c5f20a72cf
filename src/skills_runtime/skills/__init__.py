"""Skills: find them in sources, resolve their mentions, and inject them safely into prompts.

Each part imports only those before it: `problems`, `skill`, `standard` and `archives`, `sources`, `library`,
`mentions`; then `catalog`, `activation`, `actions` and `routing`; then `prompt_prefix`, `discovery` and `scan`; then
`configured`, `install`, `watch` and `scan_report`; and `evals` and `reports` above all.

The names below are imported when they are first used: most runs have no skills, and settings are slow to import.
"""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.skills.actions import (
        RESERVED_PREFIX,
        RUN_ACTION,
        Action,
        EntryPoint,
        InlineMetadata,
        UnusableMetadata,
        directory_digest,
        find_action,
        find_entry_point,
        is_python_allowed,
        parse_inline_metadata,
        read_script,
        resolve_command,
    )
    from skills_runtime.skills.activation import (
        ASSETS,
        MAX_ARGUMENT_CHARS,
        REFERENCES,
        CurrentSkills,
        ForkedSkills,
        ForkSupport,
        Injected,
        MissingVariable,
        inject_skill,
        missing_variables,
        read_skill_file,
        split_forked,
    )
    from skills_runtime.skills.archives import ArchiveLimits, unpack
    from skills_runtime.skills.catalog import (
        MARK_CHARS,
        build_catalog,
        build_entries,
        compute_delta,
        compute_marks,
        decode_marks,
        estimate_tokens,
        is_same_file,
    )
    from skills_runtime.skills.configured import (
        BUNDLED_NAMESPACE,
        build_library,
        find_bundled_skills,
        load_library,
        preflight,
    )
    from skills_runtime.skills.discovery import TrustStore, find_project_root, is_trusted, resolve_discovery_paths
    from skills_runtime.skills.library import Library, Rules
    from skills_runtime.skills.mentions import resolve_mentions
    from skills_runtime.skills.problems import Problem, SkillError, failure
    from skills_runtime.skills.prompt_prefix import (
        SEARCH_TOOL,
        HistoryRule,
        PromptChoices,
        PromptParts,
        apply_template,
        build_prompt,
        resolve_prompt_choices,
        select_skills,
        select_tools,
    )
    from skills_runtime.skills.reports import (
        RoutingExplanation,
        SkillChange,
        SkillList,
        check_skills,
        describe_skill,
        explain_routing,
        find_at_path,
        find_by_name,
        list_changes,
        list_skills,
        load_library_at,
    )
    from skills_runtime.skills.routing import SkillIndex, index_skills, route_skills, search_index
    from skills_runtime.skills.scan_report import Issue, ScanReport, build_issue, build_scan_report, to_jsonable
    from skills_runtime.skills.skill import (
        Mention,
        RunDefinition,
        Skill,
        is_name,
        mentions_in,
        parse_mention,
        people_may_call,
        wants_own_run,
    )
    from skills_runtime.skills.sources import (
        FilesystemSource,
        IndexedSource,
        MemorySource,
        Origin,
        Report,
        Row,
        ScanOptions,
        Source,
    )
    from skills_runtime.skills.sources.filesystem import skill_directories
    from skills_runtime.skills.standard.diagnostics import Diagnostic
    from skills_runtime.skills.standard.directories import InspectedSkill, create_skill, inspect_directory
    from skills_runtime.skills.standard.parse import parse_skill
    from skills_runtime.skills.standard.skill_yaml import RUN_FILE
    from skills_runtime.skills.standard.specification import allowed_tools
    from skills_runtime.skills.watch import watch_skills

__getattr__ = lazy_names(
    __name__,
    {
        "actions": (
            "Action EntryPoint InlineMetadata RESERVED_PREFIX RUN_ACTION UnusableMetadata find_action "
            "resolve_command directory_digest find_entry_point parse_inline_metadata is_python_allowed read_script"
        ),
        "activation": (
            "ASSETS CurrentSkills ForkSupport ForkedSkills Injected MAX_ARGUMENT_CHARS MissingVariable "
            "REFERENCES inject_skill missing_variables read_skill_file split_forked"
        ),
        "archives": "ArchiveLimits unpack",
        "catalog": (
            "MARK_CHARS build_catalog build_entries compute_delta compute_marks decode_marks estimate_tokens "
            "is_same_file"
        ),
        "configured": "BUNDLED_NAMESPACE find_bundled_skills build_library load_library preflight",
        "discovery": "TrustStore is_trusted find_project_root resolve_discovery_paths",
        "library": "Library Rules",
        "mentions": "resolve_mentions",
        "problems": "Problem SkillError failure",
        "prompt_prefix": (
            "HistoryRule PromptChoices PromptParts SEARCH_TOOL apply_template build_prompt select_tools "
            "resolve_prompt_choices select_skills"
        ),
        "reports": (
            "RoutingExplanation SkillChange SkillList check_skills describe_skill explain_routing find_at_path "
            "find_by_name list_changes list_skills load_library_at"
        ),
        "routing": "SkillIndex index_skills route_skills search_index",
        "scan_report": "Issue ScanReport build_scan_report build_issue to_jsonable",
        "skill": "Mention RunDefinition Skill is_name mentions_in parse_mention people_may_call wants_own_run",
        "sources": "FilesystemSource IndexedSource MemorySource Origin Report Row ScanOptions Source",
        "sources.filesystem": "skill_directories",
        "standard.diagnostics": "Diagnostic",
        "standard.directories": "InspectedSkill create_skill inspect_directory",
        "standard.parse": "parse_skill",
        "standard.skill_yaml": "RUN_FILE",
        "standard.specification": "allowed_tools",
        "watch": "watch_skills",
    },
)

__all__ = [
    "ASSETS",
    "BUNDLED_NAMESPACE",
    "MARK_CHARS",
    "MAX_ARGUMENT_CHARS",
    "REFERENCES",
    "RESERVED_PREFIX",
    "RUN_ACTION",
    "RUN_FILE",
    "SEARCH_TOOL",
    "Action",
    "ArchiveLimits",
    "CurrentSkills",
    "Diagnostic",
    "EntryPoint",
    "FilesystemSource",
    "ForkSupport",
    "ForkedSkills",
    "HistoryRule",
    "IndexedSource",
    "Injected",
    "InlineMetadata",
    "InspectedSkill",
    "Issue",
    "Library",
    "MemorySource",
    "Mention",
    "MissingVariable",
    "Origin",
    "Problem",
    "PromptChoices",
    "PromptParts",
    "Report",
    "RoutingExplanation",
    "Row",
    "Rules",
    "RunDefinition",
    "ScanOptions",
    "ScanReport",
    "Skill",
    "SkillChange",
    "SkillError",
    "SkillIndex",
    "SkillList",
    "Source",
    "TrustStore",
    "UnusableMetadata",
    "allowed_tools",
    "apply_template",
    "build_catalog",
    "build_entries",
    "build_issue",
    "build_library",
    "build_prompt",
    "build_scan_report",
    "check_skills",
    "compute_delta",
    "compute_marks",
    "create_skill",
    "decode_marks",
    "describe_skill",
    "directory_digest",
    "estimate_tokens",
    "explain_routing",
    "failure",
    "find_action",
    "find_at_path",
    "find_bundled_skills",
    "find_by_name",
    "find_entry_point",
    "find_project_root",
    "index_skills",
    "inject_skill",
    "inspect_directory",
    "is_name",
    "is_python_allowed",
    "is_same_file",
    "is_trusted",
    "list_changes",
    "list_skills",
    "load_library",
    "load_library_at",
    "mentions_in",
    "missing_variables",
    "parse_inline_metadata",
    "parse_mention",
    "parse_skill",
    "people_may_call",
    "preflight",
    "read_script",
    "read_skill_file",
    "resolve_command",
    "resolve_discovery_paths",
    "resolve_mentions",
    "resolve_prompt_choices",
    "route_skills",
    "search_index",
    "select_skills",
    "select_tools",
    "skill_directories",
    "split_forked",
    "to_jsonable",
    "unpack",
    "wants_own_run",
    "watch_skills",
]
