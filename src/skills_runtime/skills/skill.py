"""A skill, its mention, and what its front matter says about who may call it: plain values.

The body of a skill stays with its source until it is needed.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from skills_runtime.skills.problems import failure

_SEGMENT = "[a-z0-9][a-z0-9-]{0,62}[a-z0-9]"
_NAMESPACE = f"{_SEGMENT}(?::{_SEGMENT}){{0,6}}"
NAME = "[a-z0-9][a-z0-9_-]{0,62}[a-z0-9]"
"""Regular expression of a skill name."""
_MENTION = re.compile(rf"\$\[(?P<namespace>{_NAMESPACE})\]\.(?P<name>{NAME})")
# A name followed by characters that no name can contain, or by a bracket, is not a mention.
EXACT_MENTION = re.compile(rf"{_MENTION.pattern}(?![_-]*[A-Za-z0-9\]])")
"""An exact mention inside a text."""
_WHOLE_NAME = re.compile(NAME)
_WHOLE_NAMESPACE = re.compile(_NAMESPACE)

_SHOWN_CHARS = 80


class Mention(msgspec.Struct, frozen=True, order=True):
    """The exact name of one skill, such as `$[web:mvp].article-writer`."""

    namespace: str
    name: str

    @property
    def text(self) -> str:
        """Return the mention as written."""
        return f"$[{self.namespace}].{self.name}"


def is_name(text: str) -> bool:
    """Return whether the text is a valid skill name."""
    return _WHOLE_NAME.fullmatch(text) is not None


def describe_unmentionable(name: str) -> str:
    """Explain that a skill's name does not fit into an exact mention."""
    return f"no exact mention can say its name; write `${name}` or `/{name}`"


def is_namespace(text: str) -> bool:
    """Return whether the text is one to seven segments joined by colons."""
    return _WHOLE_NAMESPACE.fullmatch(text) is not None


def mentions_in(text: str) -> list[Mention]:
    """Return the skills that a text mentions exactly, each once, in order of their first mention."""
    if "$[" not in text:
        return []
    mentions = (Mention(match["namespace"], match["name"]) for match in EXACT_MENTION.finditer(text))
    return list(dict.fromkeys(mentions))


def parse_mention(text: str) -> Mention:
    """Parse a text that is exactly one mention."""
    match = _MENTION.fullmatch(text)
    if match is None:
        excerpt = text[:_SHOWN_CHARS] + ("…" if len(text) > _SHOWN_CHARS else "")
        raise failure(
            "SKILL_MENTION_FORMAT_INVALID",
            f"{excerpt!a} is not the mention of a skill",
            hint="write exactly one, such as `$[web:mvp].article-writer`",
        )
    return Mention(match["namespace"], match["name"])


class RunDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """How a skill runs by itself."""

    name: str
    description: str = ""
    runtime: Literal["python", "node", "shell"] = "python"
    timeout_ms: int | None = None
    artifacts: tuple[str, ...] = ()
    """Output files, relative to its directory."""
    env: tuple[str, ...] = ()
    """Environment variables that it may see."""
    isolation: Literal["copy", "shared"] = "copy"
    """Whether it works on a copy of its directory or on the directory itself."""
    warm: bool = True
    """Whether it may run in an already started process."""
    network: bool = False
    """Whether it needs the hosts that the user's settings allow; otherwise it has no network."""


class Skill(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A skill without its body."""

    namespace: str
    name: str
    description: str
    """One line: what it does and when to use it."""
    locator: str
    """Where it comes from, safe to print."""
    space_id: str
    source_id: str
    file: str = ""
    """The path of its `SKILL.md`, or else of its `skill.yaml`, if it is a file; the path contains no link."""
    metadata: Mapping[str, Any] = {}
    """All other fields of its front matter; every scalar is text."""
    required_env_vars: tuple[str, ...] = ()
    run: RunDefinition | None = None
    """How it runs by itself, if it has a `skill.yaml`: its action `run`."""
    content_hash: str = ""
    """The SHA-256 of that file at the scan; together with the path it identifies the skill."""

    @property
    def path(self) -> Path | None:
        """Return the path of the file."""
        return Path(self.file) if self.file else None

    @property
    def mention(self) -> Mention:
        """Return the exact mention."""
        return Mention(self.namespace, self.name)

    @property
    def directory(self) -> Path | None:
        """Return the directory of its files, if it has one."""
        return Path(self.file).parent if self.file else None


_YES = frozenset(("true", "yes", "on", "1"))
_NO = frozenset(("false", "no", "off", "0"))


def model_may_call(skill: Skill) -> bool:
    """Return whether the model may call the skill: not with `disable-model-invocation`."""
    return _flag(skill, "disable-model-invocation") not in _YES


def people_may_call(skill: Skill) -> bool:
    """Return whether users may call the skill by name: not with `user-invocable: false`."""
    return _flag(skill, "user-invocable") not in _NO


def wants_own_run(skill: Skill) -> bool:
    """Return whether the skill asks for a run of its own with `context: fork`."""
    return skill.metadata.get("context") == "fork"


def _flag(skill: Skill, name: str) -> str:
    return (text_field(skill, name) or text_field(skill, name.replace("-", "_"))).strip().lower()


def text_field(skill: Skill, name: str) -> str:
    """Return a text field of the front matter, from the top level or from `metadata`; empty if it is no text."""
    if not skill.metadata:
        return ""
    value: Any = skill.metadata.get(name)
    if value is None:
        inner = skill.metadata.get("metadata")
        value = cast("Mapping[str, Any]", inner).get(name) if isinstance(inner, Mapping) else None
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else ""
