"""A skill, how it is mentioned, and what its front matter says of who may call it: plain values.

What a skill says stays with its source until it is needed.
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
"""What a skill may be called, as a regular expression."""
_MENTION = re.compile(rf"\$\[(?P<namespace>{_NAMESPACE})\]\.(?P<name>{NAME})")
# A name that goes on in a way no name can, or that a bracket closes, is not a name.
EXACT_MENTION = re.compile(rf"{_MENTION.pattern}(?![_-]*[A-Za-z0-9\]])")
"""An exact mention in the middle of a text."""
_WHOLE_NAME = re.compile(NAME)
_WHOLE_NAMESPACE = re.compile(_NAMESPACE)

_SHOWN_CHARS = 80


class Mention(msgspec.Struct, frozen=True, order=True):
    """The exact name of one skill, as `$[web:mvp].article-writer`."""

    namespace: str
    name: str

    @property
    def text(self) -> str:
        """How it is written."""
        return f"$[{self.namespace}].{self.name}"


def is_name(text: str) -> bool:
    """Whether a skill may be called so."""
    return _WHOLE_NAME.fullmatch(text) is not None


def describe_unmentionable(name: str) -> str:
    """What to say of a skill whose name no exact mention can have."""
    return f"no exact mention can say its name; write `${name}` or `/{name}`"


def is_namespace(text: str) -> bool:
    """Whether the text is one to seven segments joined by colons."""
    return _WHOLE_NAMESPACE.fullmatch(text) is not None


def mentions_in(text: str) -> list[Mention]:
    """The skills that free text mentions, each once, in the order of their first mention."""
    if "$[" not in text:
        return []
    mentions = (Mention(match["namespace"], match["name"]) for match in EXACT_MENTION.finditer(text))
    return list(dict.fromkeys(mentions))


def parse_mention(text: str) -> Mention:
    """The one mention that the whole text is; anything around it is an error."""
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
    """Files it leaves behind, relative to its directory."""
    env: tuple[str, ...] = ()
    """Variables of the environment that it may see."""
    isolation: Literal["copy", "shared"] = "copy"
    """Whether it works on a copy of its directory, or on the directory itself."""
    warm: bool = True
    """Whether it may run in a process that is already there."""
    network: bool = False
    """Whether it needs the hosts that the user's settings let be reached; without it there is no network at all."""


class Skill(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of a skill without reading its body."""

    namespace: str
    name: str
    description: str
    """One line: what it does and when to use it."""
    locator: str
    """Where it comes from, fit to be printed."""
    space_id: str
    source_id: str
    file: str = ""
    """The path of its `SKILL.md`, or else of its `skill.yaml`, when it is a file; no link is on the way to it."""
    metadata: Mapping[str, Any] = {}
    """Everything else its front matter says; every scalar is text."""
    required_env_vars: tuple[str, ...] = ()
    run: RunDefinition | None = None
    """How it runs by itself, where it has a `skill.yaml`: its action `run`."""
    content_hash: str = ""
    """The SHA-256 of that file when it was found; with the path it tells one skill from every other."""

    @property
    def path(self) -> Path | None:
        """The same path as a value; only whoever needs it pays for it, for there may be thousands of skills."""
        return Path(self.file) if self.file else None

    @property
    def mention(self) -> Mention:
        """The name it is called by."""
        return Mention(self.namespace, self.name)

    @property
    def directory(self) -> Path | None:
        """The directory its files are in, when it has one."""
        return Path(self.file).parent if self.file else None


_YES = frozenset(("true", "yes", "on", "1"))
_NO = frozenset(("false", "no", "off", "0"))


def model_may_call(skill: Skill) -> bool:
    """Whether the model is told of the skill; one that says `disable-model-invocation` is for people only."""
    return _flag(skill, "disable-model-invocation") not in _YES


def people_may_call(skill: Skill) -> bool:
    """Whether people call the skill by name; one that says `user-invocable: false` is for the model only."""
    return _flag(skill, "user-invocable") not in _NO


def wants_own_run(skill: Skill) -> bool:
    """Whether a run of its own works on the skill; it says `context: fork`."""
    return skill.metadata.get("context") == "fork"


def _flag(skill: Skill, name: str) -> str:
    return (text_field(skill, name) or text_field(skill, name.replace("-", "_"))).strip().lower()


def text_field(skill: Skill, name: str) -> str:
    """A field of the front matter, at its top or below `metadata`; nothing where it is no text."""
    if not skill.metadata:
        return ""
    value: Any = skill.metadata.get(name)
    if value is None:
        inner = skill.metadata.get("metadata")
        value = cast("Mapping[str, Any]", inner).get(name) if isinstance(inner, Mapping) else None
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else ""
