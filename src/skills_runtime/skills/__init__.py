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
        check_program,
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
    from skills_runtime.skills.bundled import BUNDLED_NAMESPACE, find_bundled_skills
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
    from skills_runtime.skills.configured import build_library, load_library, preflight
    from skills_runtime.skills.create import create_skill, next_commands, write_files
    from skills_runtime.skills.discovery import (
        TrustedPaths,
        TrustStore,
        find_project_root,
        is_trusted,
        resolve_discovery_paths,
    )
    from skills_runtime.skills.library import Library, Rules, is_bundled
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
        explain_untrusted,
        find_at_path,
        find_by_name,
        find_skill_to_trust,
        list_changes,
        list_skills,
        load_library_at,
        state_of,
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
    from skills_runtime.skills.standard.directories import InspectedSkill, inspect_directory
    from skills_runtime.skills.standard.parse import parse_skill
    from skills_runtime.skills.standard.skill_yaml import RUN_FILE
    from skills_runtime.skills.standard.specification import allowed_tools
    from skills_runtime.skills.templates import PROGRAMS, Runtime, choose_language, render_files
    from skills_runtime.skills.watch import watch_skills

__getattr__ = lazy_names(
    __name__,
    {
        "actions": (
            "Action EntryPoint InlineMetadata RESERVED_PREFIX RUN_ACTION UnusableMetadata check_program find_action "
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
        "bundled": "BUNDLED_NAMESPACE find_bundled_skills",
        "create": "create_skill next_commands write_files",
        "templates": "PROGRAMS Runtime choose_language render_files",
        "configured": "build_library load_library preflight",
        "discovery": "TrustedPaths TrustStore is_trusted find_project_root resolve_discovery_paths",
        "library": "Library Rules is_bundled",
        "mentions": "resolve_mentions",
        "problems": "Problem SkillError failure",
        "prompt_prefix": (
            "HistoryRule PromptChoices PromptParts SEARCH_TOOL apply_template build_prompt select_tools "
            "resolve_prompt_choices select_skills"
        ),
        "reports": (
            "RoutingExplanation SkillChange SkillList check_skills describe_skill explain_routing "
            "explain_untrusted find_at_path find_skill_to_trust "
            "find_by_name list_changes list_skills load_library_at state_of"
        ),
        "routing": "SkillIndex index_skills route_skills search_index",
        "scan_report": "Issue ScanReport build_scan_report build_issue to_jsonable",
        "skill": "Mention RunDefinition Skill is_name mentions_in parse_mention people_may_call wants_own_run",
        "sources": "FilesystemSource IndexedSource MemorySource Origin Report Row ScanOptions Source",
        "sources.filesystem": "skill_directories",
        "standard.diagnostics": "Diagnostic",
        "standard.directories": "InspectedSkill inspect_directory",
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
    "PROGRAMS",
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
    "Runtime",
    "ScanOptions",
    "ScanReport",
    "Skill",
    "SkillChange",
    "SkillError",
    "SkillIndex",
    "SkillList",
    "Source",
    "TrustStore",
    "TrustedPaths",
    "UnusableMetadata",
    "allowed_tools",
    "apply_template",
    "build_catalog",
    "build_entries",
    "build_issue",
    "build_library",
    "build_prompt",
    "build_scan_report",
    "check_program",
    "check_skills",
    "choose_language",
    "compute_delta",
    "compute_marks",
    "create_skill",
    "decode_marks",
    "describe_skill",
    "directory_digest",
    "estimate_tokens",
    "explain_routing",
    "explain_untrusted",
    "failure",
    "find_action",
    "find_at_path",
    "find_bundled_skills",
    "find_by_name",
    "find_entry_point",
    "find_project_root",
    "find_skill_to_trust",
    "index_skills",
    "inject_skill",
    "inspect_directory",
    "is_bundled",
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
    "next_commands",
    "parse_inline_metadata",
    "parse_mention",
    "parse_skill",
    "people_may_call",
    "preflight",
    "read_script",
    "read_skill_file",
    "render_files",
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
    "state_of",
    "to_jsonable",
    "unpack",
    "wants_own_run",
    "watch_skills",
    "write_files",
]
