"""Rules and what they say of a call, as values; and the key under which a request is approved."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.events import canonical_json
from skills_runtime.safety.guard.facts import Level

RuleEffect = Literal["allow", "ask", "deny"]
SafetyMode = Literal["auto", "ask", "allow", "deny"]
"""What happens to a call that no rule decides; `auto` passes what the sandbox contains and can be undone."""


class Allow(msgspec.Struct, frozen=True):
    """The call may run."""

    rule: str
    """What decided, in words for people; several things are joined by ` + `."""
    justification: str = ""


class Ask(msgspec.Struct, frozen=True):
    """An approver must decide."""

    rule: str
    justification: str = ""


class Deny(msgspec.Struct, frozen=True):
    """The call must not run."""

    rule: str
    justification: str = ""


PolicyDecision = Allow | Ask | Deny


ONE_WORD = "*"
"""In a command pattern: any one word."""
ANY_WORDS = "**"
"""At the end of a command pattern: any words, also those that only the running shell knows."""

END = "$"
"""At the end of a command pattern: nothing may follow. The word `$` itself is written `\\$` there."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A call that a rule shall match or shall not match: checked when the rule is loaded."""

    line: str = ""
    """A command line."""
    argv: tuple[str, ...] = ()
    """A program and its arguments."""
    tool: str = ""
    path: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    skill: str = ""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of a rule file; each of its patterns is one that a call must fit, and an empty one fits all."""

    effect: RuleEffect
    name: str
    tool: tuple[str, ...] = ()
    """Names of tools; `*` stands for any characters."""
    command: tuple[tuple[str, ...], ...] = ()
    """Beginnings of commands, as words; those that end in `$` are whole commands."""
    path: tuple[str, ...] = ()
    """Files, as in a `.gitignore`, from the top of the workspace."""
    host: tuple[str, ...] = ()
    """Exact names, or `*.example.com`."""
    skill: tuple[str, ...] = ()
    """Skills as `namespace.name`; `*` stands for any characters."""
    digest: tuple[str, ...] = ()
    """Contents of the skill, with the action, that an allow rule is limited to."""
    risk: Level | None = None
    """Of an allow rule the highest risk it allows, of others the lowest they are about."""
    folder: str = ""
    """The only workspace it applies to, as a real path; empty for all."""
    justification: str = ""
    match: tuple[Example, ...] = ()
    not_match: tuple[Example, ...] = ()
    origin: str = ""
    """Where it was written down."""

    @property
    def label(self) -> str:
        """The rule as decisions name it."""
        origin = ", ".join(filter(None, (self.origin, "this folder only" if self.folder else "")))
        return f"rule `{self.name}` ({origin})" if origin else f"rule `{self.name}`"

    def applies_in(self, workspace: str) -> bool:
        """Return whether it applies to runs in a workspace, given as a real path.

        A link that leads from the folder to another one does not carry the rule there.
        """
        return not self.folder or self.folder == workspace


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides on the calls of a run."""

    mode: SafetyMode = "ask"
    allowlist: tuple[str, ...] = ()
    denylist: tuple[str, ...] = ()
    tool_allowlist: tuple[str, ...] = ()
    tool_denylist: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    root: str = ""
    """The workspace, absolute; without it an absolute path fits no allow rule, and every deny rule it could fit."""
    home: str = ""
    """What `~` means in paths."""
    control: tuple[str, ...] = ()
    """More places of the runtime that no tool may touch, absolute."""
    consent: tuple[str, ...] = ()
    """More files that no tool changes unasked, absolute: the configuration of the next run."""
    outputs: tuple[str, ...] = ()
    """More directories that belong to the run, as its commands reach them: `../deliverables` of an isolated run."""
    sandboxed: bool = False
    """Whether commands run in an active sandbox; without one, mode `auto` decides like `ask`."""


def approval_key(tool: str, sanitized_request: Mapping[str, Any]) -> str:
    """Compute the key of a request; a changed request has a changed key."""
    request = {"tool": tool, "request": dict(sanitized_request)}
    try:
        return sha256(canonical_json(request)).hexdigest()
    except ValidationFailed:  # a model may write numbers that have no canonical form
        return sha256(b"exact\n" + msgspec.json.encode(request, order="sorted")).hexdigest()
