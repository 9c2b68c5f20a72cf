"""Requests for runs as values, and how far they may change the settings.

A client may restrict a run further than the operator's settings, never less.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.config import Resolved, Settings, SkillsSettings, tighten
from skills_runtime.errors import AccessRefused
from skills_runtime.runs import check_id
from skills_runtime.skills import BUNDLED_NAMESPACE, Library, Skill, load_library, mentions_in, parse_mention

_CHOICES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "policy_mode": ("safety.mode", ("auto", "ask", "allow", "deny")),
    "sandbox_profile": ("sandbox.profile", ("dev", "balanced", "prod")),
    "workspace": ("sandbox.workspace", ("shared", "isolated")),
}
RESERVED_RUN_IDS = frozenset({"import", "options"})
"""Path segments of routes that would hide a run with such an id."""
SESSION_SPACE = "session"
"""The skill space of the directories that a session adds."""
_LIMITS = ("max_steps", "max_wall_time_sec", "max_tool_calls", "max_tokens", "max_cost_usd")


class RunOverrides(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of one run; `None` means those of the settings."""

    model: str | None = None
    max_steps: int | None = None
    max_wall_time_sec: int | None = None
    max_tool_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    on_limit: Literal["fail", "park"] | None = None
    review: bool = False
    """Whether the result must be reviewed."""
    policy_mode: Literal["auto", "ask", "allow", "deny"] | None = None
    """What happens to a call that no rule decides."""
    sandbox_profile: Literal["dev", "balanced", "prod"] | None = None
    workspace: Literal["shared", "isolated"] | None = None
    """Whether tools work in the user's tree or in the run's own directory."""

    def settings(self) -> dict[str, Any]:
        """Return the overrides as settings."""
        run: dict[str, Any] = {name: getattr(self, name) for name in (*_LIMITS, "on_limit")}
        run["review"] = "required" if self.review else None
        limits = {name: value for name, value in run.items() if value is not None}
        models = {"planner": self.model, "executor": self.model} if self.model else {}
        sandbox = {"profile": self.sandbox_profile, "workspace": self.workspace}
        chosen_sandbox = {name: value for name, value in sandbox.items() if value is not None}
        safety = {"mode": self.policy_mode} if self.policy_mode else {}
        sections = {"run": limits, "models": models, "sandbox": chosen_sandbox, "safety": safety}
        return {name: section for name, section in sections.items() if section}


class RunRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A new run."""

    prompt: str
    session_id: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    overrides: RunOverrides = RunOverrides()
    fork_of: str | None = None
    """The run that it continues."""
    fork_at: int | None = None
    """The last event of that run to keep; `None` means all."""
    skill_sources: tuple[str, ...] = ()
    """Additional skill directories of the session."""
    skills: tuple[str, ...] = ()
    """Skills to load at the start, by mention or name."""
    images: tuple[Path, ...] = ()
    """Images that belong to the task."""
    sandbox_path: Path | None = None
    """The directory of the new run; `None` means one named by its id, below the workspace."""
    settings: Mapping[str, Any] = {}
    """Settings from our own code, such as those of the demonstration; never from a client."""

    def check_ids(self) -> None:
        """Refuse ids that are invalid for a session, task or run."""
        for noun, value in (("session", self.session_id), ("task", self.task_id), ("run", self.run_id)):
            if value is not None:
                check_id(value, noun)

    @property
    def digest(self) -> str:
        """Return a digest that identifies the request."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted", enc_hook=str)).hexdigest()


def list_allowed_choices(allowed: Settings) -> dict[str, tuple[str, ...]]:
    """Return what a client may choose for policy and sandbox: the configured value, and stricter ones."""
    return {
        name: tuple(choice for choice in choices if tighten(key, _value(allowed, key), choice) == choice)
        for name, (key, choices) in _CHOICES.items()
    }


def _value(settings: Settings, key: str) -> str:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def check_overrides(overrides: RunOverrides, settings: Settings) -> None:
    """Refuse a limit above the operator's, and a weaker policy or sandbox."""
    for name, choices in list_allowed_choices(settings).items():
        value = getattr(overrides, name)
        if value is not None and value not in choices:
            raise AccessRefused(
                f"`{name}` may be {' or '.join(choices)} here, not {value}",
                hint=f"choose one of these, or let the operator change `{_CHOICES[name][0]}`",
            )
    for name in _LIMITS:
        value, limit = getattr(overrides, name), getattr(settings.run, name)
        if value is not None and limit is not None and value > limit:
            raise AccessRefused(
                f"`{name}` may be at most {limit} here", hint=f"ask for less, or let the operator raise `run.{name}`"
            )


def build_source_settings(sources: Sequence[str], skills: SkillsSettings) -> dict[str, Any]:
    """Return the settings that add these directories to those of the workspace."""
    if not sources:
        return {}
    names = [f"{SESSION_SPACE}-{number}" for number in range(1, len(sources) + 1)]
    added_sources = [
        {"id": name, "type": "filesystem", "options": {"root": root}} for name, root in zip(names, sources, strict=True)
    ]
    space = {"id": SESSION_SPACE, "namespace": BUNDLED_NAMESPACE, "sources": names}
    return {
        "skills": {
            "spaces": [*(existing.model_dump() for existing in skills.spaces), space],
            "sources": [*(source.model_dump() for source in skills.sources), *added_sources],
        }
    }


def add_skill_mentions(prompt: str, chosen: Iterable[str], resolved: Resolved) -> str:
    """Append mentions of the chosen skills to the task, except those it already mentions."""
    library = load_library(resolved)
    mentions = set(mentions_in(prompt))
    requested = [skill.mention for skill in (find_skill(library, text) for text in chosen)]
    added = [mention.text for mention in dict.fromkeys(requested) if mention not in mentions]
    return f"{prompt.rstrip()}\n\n{' '.join(added)}\n" if added else prompt


def find_skill(library: Library, text: str) -> Skill:
    """Return the skill with this mention or name; raises if there is none, or several."""
    return library.find(parse_mention(text)) if text.startswith("$[") else library.find_by_name(text)
