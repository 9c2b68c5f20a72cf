"""A skill and how it is mentioned: plain values; what a skill says stays with its source until it is needed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec


class Mention(msgspec.Struct, frozen=True, order=True):
    """The exact name of one skill, as `$[web:mvp].article-writer`."""

    namespace: str
    name: str

    @property
    def text(self) -> str:
        """How it is written."""
        return f"$[{self.namespace}].{self.name}"


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
