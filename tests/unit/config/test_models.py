"""The settings there are, their defaults, and what importing them costs."""

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from skills_runtime.config import Settings
from skills_runtime.config.merge import flatten

if TYPE_CHECKING:
    from conftest import ConfigDirs

DEFAULTS: dict[str, Any] = {
    "config_version": 1,
    "profile_id": "default_agent",
    "run.max_steps": 40,
    "run.max_wall_time_sec": 1800,
    "run.human_timeout_ms": None,
    "run.resume_strategy": "replay",
    "run.context_recovery.mode": "compact_first",
    "run.max_tool_calls": None,
    "run.max_tokens": None,
    "run.max_cost_usd": None,
    "run.on_limit": "fail",
    "run.review": "none",
    "run.output_schema": None,
    "run.context_recovery.max_compactions_per_run": 0,
    "run.context_recovery.window_tokens": None,
    "run.context_recovery.compact_at": 0.8,
    "run.context_recovery.ask_first_fallback_mode": "compact_first",
    "run.context_recovery.compaction_history_max_chars": 24000,
    "run.context_recovery.skills_max_chars": 100000,
    "run.context_recovery.compaction_keep_last_messages": 6,
    "run.context_recovery.increase_budget_extra_steps": 20,
    "run.context_recovery.increase_budget_extra_wall_time_sec": 600,
    "safety.mode": "auto",
    "safety.allowlist": [],
    "safety.denylist": [],
    "safety.tool_allowlist": [],
    "safety.tool_denylist": [],
    "safety.rule_files": [],
    "safety.approval_timeout_ms": 60000,
    "safety.approval_expires_sec": 604800,
    "safety.skill_tools": "preapprove",
    "sandbox.profile": "dev",
    "sandbox.allow_home": False,
    "sandbox.default_policy": "restricted",
    "sandbox.os.mode": "auto",
    "sandbox.os.seatbelt.profile": "(version 1) (allow default)",
    "sandbox.os.bubblewrap.bwrap_path": "bwrap",
    "sandbox.os.bubblewrap.unshare_net": True,
    "sandbox.workspace": "shared",
    "sandbox.delete": "disabled",
    "sandbox.egress.allow": [],
    "sandbox.egress.allow_private": [],
    "sandbox.egress.deny": [],
    "sandbox.egress.unknown": "deny",
    "tools.compat": False,
    "llm.backend": "openai",
    "llm.provider": "openai",
    "llm.base_url": "https://api.openai.com/v1",
    "llm.api_key_env": "OPENAI_API_KEY",
    "llm.timeout_sec": 60,
    "llm.retry.max_retries": 3,
    "llm.retry.base_delay_sec": 0.5,
    "llm.retry.cap_delay_sec": 8.0,
    "llm.retry.jitter_ratio": 0.1,
    "llm.prices": [],
    "llm.fake.script": None,
    "llm.replay.run": None,
    "model": None,
    "models.planner": "gpt-6.1-sol",
    "models.executor": "gpt-6.1-sol",
    "skills.env_var_missing_policy": "ask_human",
    "skills.versioning.enabled": False,
    "skills.versioning.strategy": "",
    "skills.strictness.unknown_mention": "error",
    "skills.strictness.duplicate_name": "error",
    "skills.strictness.mention_format": "strict",
    "skills.spaces": [],
    "skills.sources": [],
    "skills.scan.ignore_dot_entries": True,
    "skills.scan.max_depth": 99,
    "skills.scan.max_dirs_per_root": 100000,
    "skills.scan.max_frontmatter_bytes": 65536,
    "skills.scan.refresh_policy": "always",
    "skills.scan.ttl_sec": 300,
    "skills.discovery.enabled": True,
    "skills.discovery.project": True,
    "skills.discovery.user": True,
    "skills.discovery.system": True,
    "skills.discovery.packages": False,
    "skills.discovery.plugins": True,
    "skills.discovery.other_clients": True,
    "skills.discovery.directory": ".skills_runtime_sdk/skills",
    "skills.discovery.admin_directory": "/etc/skills_runtime/skills",
    "skills.discovery.max_depth": 6,
    "skills.discovery.max_dirs_per_root": 2000,
    "skills.discovery.max_entries_per_root": 20000,
    "skills.injection.max_bytes": None,
    "skills.catalog.share": 0.02,
    "skills.catalog.max_tokens": None,
    "skills.bundles.max_bytes": 1048576,
    "skills.bundles.cache_dir": ".skills_runtime_sdk/bundles",
    "skills.bundles.max_extracted_bytes": None,
    "skills.bundles.max_files": None,
    "skills.bundles.max_single_file_bytes": None,
    "skills.actions.enabled": True,
    "skills.references.enabled": False,
    "skills.references.allow_assets": False,
    "skills.references.default_max_bytes": 65536,
    "prompt.profile": "default_agent",
    "prompt.template": "default",
    "prompt.system_text": None,
    "prompt.developer_text": None,
    "prompt.system_path": None,
    "prompt.developer_path": None,
    "prompt.include_skills_list": None,
    "prompt.include_cwd_tree": False,
    "prompt.skill_injection.mode": None,
    "prompt.skill_injection.render": None,
    "prompt.history.mode": None,
    "prompt.history.max_messages": 40,
    "prompt.history.max_chars": 120000,
    "prompt.tools.exposure": None,
    "deliverables.required": [],
    "service.host": "127.0.0.1",
    "service.port": 8000,
    "service.allowed_hosts": [],
    "service.skill_service": "user",
    "service.skills_dir": None,
    "service.artifacts_dir": None,
    "service.default_timeout_ms": 10_000,
    "service.max_timeout_ms": 600_000,
    "service.grace_seconds": 10.0,
    "service.limits.body_bytes": 2_621_440,
    "service.limits.body_seconds": 30.0,
    "service.limits.requests_per_second": 500.0,
    "service.limits.burst": 2000,
    "service.limits.failures_per_minute": 30,
    "service.limits.concurrent": 16,
    "service.limits.waiting": 64,
    "service.executions.keep_days": None,
    "service.executions.keep_bytes": None,
}


def test_the_settings_and_their_defaults_are_these() -> None:
    assert dict(flatten(Settings().model_dump(mode="json"))) == DEFAULTS


@pytest.mark.parametrize("field", ["max_retries", "base_delay_sec", "cap_delay_sec", "jitter_ratio"])
def test_an_explicit_zero_of_a_retry_is_kept(config_dirs: "ConfigDirs", field: str) -> None:
    settings = config_dirs.resolve(session={"llm": {"retry": {field: 0}}}).settings
    assert getattr(settings.llm.retry, field) == 0


def test_no_limit_of_time_can_be_asked_for(config_dirs: "ConfigDirs") -> None:
    assert config_dirs.resolve(session={"run": {"max_wall_time_sec": None}}).settings.run.max_wall_time_sec is None


def test_a_space_and_a_source_keep_what_they_were_given(config_dirs: "ConfigDirs") -> None:
    config_dirs.write(
        "kgent.yaml",
        "skills:\n"
        "  spaces: [{id: web, namespace: 'web:mvp', sources: [files]}]\n"
        "  sources: [{id: files, type: filesystem, options: {root: ./skills, deep: {a: [1, true]}}}]\n",
    )
    skills = config_dirs.resolve().settings.skills
    assert (skills.spaces[0].namespace, skills.spaces[0].enabled) == ("web:mvp", True)
    assert skills.sources[0].options == {"root": "./skills", "deep": {"a": [1, True]}}


def test_a_deliverable_may_say_more_than_its_path(config_dirs: "ConfigDirs") -> None:
    required = [{"path": "report.md", "media_type": "text/markdown", "description": "the report"}]
    [deliverable] = config_dirs.resolve(session={"deliverables": {"required": required}}).settings.deliverables.required
    assert (deliverable.path, deliverable.media_type) == ("report.md", "text/markdown")


def test_settings_cannot_be_changed(config_dirs: "ConfigDirs") -> None:
    settings = config_dirs.resolve().settings
    with pytest.raises(ValueError, match="frozen"):
        settings.run.max_steps = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_importing_the_settings_brings_nothing_heavy_along() -> None:
    code = (
        "import sys, skills_runtime.config; "
        "print([name for name in ('dotenv', 'openai', 'httpx', 'typer', 'rich', 'msgspec') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
