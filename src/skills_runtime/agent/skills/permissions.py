"""Permissions of active skills: `allowed-tools` as policy rules that hold while the skill is active.

Only trusted skills on this machine pre-approve calls, and deny rules still win. Tool names of other agent programs are
translated.
"""

import re
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.events import SkillInjected
from skills_runtime.runs import Run
from skills_runtime.safety.policy import END, Rule, render_rule
from skills_runtime.skills import MARK_CHARS, Skill, allowed_tools, decode_marks, is_same_file
from skills_runtime.text import escape_attribute

if TYPE_CHECKING:
    from skills_runtime.config import Resolved

AllowedTools = Literal["preapprove", "enforce", "ignore"]

COMMANDS = ("shell_exec", "shell", "shell_command", "exec_command")
READING = ("file_read", "read_file", "view_image")
CHANGING = ("file_write", "apply_patch")
TOOLS = {
    "bash": COMMANDS,
    "shell": COMMANDS,
    "read": READING,
    "write": CHANGING,
    "edit": CHANGING,
    "multiedit": CHANGING,
    "notebookedit": CHANGING,
    "grep": ("grep_files",),
    "glob": ("list_dir",),
    "ls": ("list_dir",),
    "websearch": ("web_search",),
    "task": ("spawn_agent", "wait", "send_input", "close_agent", "resume_agent"),
    "agent": ("spawn_agent", "wait", "send_input", "close_agent", "resume_agent"),
    "todowrite": ("update_plan",),
    "askuserquestion": ("ask_human", "request_user_input"),
}
"""Tool names of other agent programs, in lower case, and the tools they stand for here."""

_ENTRY = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?:\((?P<pattern>.*)\))?", re.DOTALL)


class SkillPermissions:
    """Add the permissions of a skill to its event."""

    def __init__(self, resolved: "Resolved") -> None:
        self._mode: AllowedTools = resolved.settings.safety.skill_tools
        by_project = {"skills.sources", "skills.spaces"} & resolved.by_project
        self._project_spaces = {space.id for space in resolved.settings.skills.spaces} if by_project else set[str]()

    def __call__(self, skill: Skill, event: SkillInjected) -> SkillInjected:
        """Return the event with the rules of the skill, unchanged if the skill declares none or they are ignored."""
        declared = skill.metadata.get("allowed-tools", skill.metadata.get("allowed_tools"))
        if self._mode == "ignore" or declared is None:
            return event
        permits = [{"text": f"rules:\n{render_rule(rule)}"} for rule in parse_rules(skill)]
        confines, preapproves = self._mode == "enforce", self._is_trusted(skill)
        return msgspec.structs.replace(event, permits=permits, preapproves=preapproves, confines=confines)

    def _is_trusted(self, skill: Skill) -> bool:
        """Return whether the user trusts the skill: it is in a trusted directory, or was installed with consent."""
        if skill.directory is None or skill.space_id in self._project_spaces:
            return False
        # Loads all of the settings code, which most runs do not need.
        from skills_runtime.skills.install import (
            consented,
        )

        try:
            return not is_installed(skill.directory) or consented(skill.directory)
        except SkillsRuntimeError:  # an unreadable lock file proves nothing
            return False


def is_installed(directory: Path) -> bool:
    """Return whether a lock file lists the skill in a directory, which then must match what the user agreed to."""
    from skills_runtime.skills.install import project_places, read_lock, user_places

    project = directory.parents[2] if len(directory.parents) > 2 else directory
    for paths in (user_places(), project_places(project)):
        if directory.parent == paths.skills and directory.name in read_lock(paths).skills:
            return True
    return False


def parse_rules(skill: Skill) -> list[Rule]:
    """Return the rules that `allowed-tools` stands for; entries that cannot be parsed permit nothing."""
    declared = skill.metadata.get("allowed-tools", skill.metadata.get("allowed_tools"))
    entries = allowed_tools(declared)
    # `Bash (git:*)` is split at the space; its `Bash` alone must not permit every command.
    usable = [
        entry for entry, next_entry in zip_longest(entries, entries[1:], fillvalue="") if not next_entry.startswith("(")
    ]
    rules = [_rule(skill, entry) for entry in usable]
    return [rule for rule in rules if rule is not None]


def _rule(skill: Skill, entry: str) -> Rule | None:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        return None
    tools = TOOLS.get(match["name"].lower(), (match["name"],))
    pattern = (match["pattern"] or "").strip()
    permitted = Rule(
        effect="allow",
        name=f"allowed-tools of {skill.name}",
        tool=tools,
        justification=f"the skill `{skill.mention.text}` is active and lists `{entry[:100]}`",
    )
    if match["pattern"] is None or pattern in ("*", ":*"):
        return permitted
    if not pattern:
        return None
    if tools == COMMANDS:
        prefix = _command_prefix(pattern)
        return msgspec.structs.replace(permitted, command=(prefix,)) if prefix else None
    return msgspec.structs.replace(permitted, path=(pattern,))


def _command_prefix(pattern: str) -> tuple[str, ...]:
    """Return the words that a command must start with, or all its words if the pattern has no wildcard."""
    beginning = re.fullmatch(r"(.*?)(?::\*|\s+\*)", pattern, re.DOTALL)
    prefix = tuple((beginning[1] if beginning else pattern).split())
    if not prefix or any("*" in word for word in prefix):
        return ()
    return prefix if beginning else (*prefix, END)


InitialSkills = Mapping[str, str]
"""Digests of skills at the start of a run, by mention."""


def initial_skills(run: Run) -> InitialSkills | None:
    """Return the skills that a run started with, from its log; `None` if its model was offered no catalog."""
    first = run.view.conversation.initial_skills_blob
    try:
        return decode_marks(run.blobs.get(first)) if first else None
    except (SkillsRuntimeError, msgspec.MsgspecError):  # an imported run without its blobs
        return {}


def revoke_stale_preapproval(event: SkillInjected, skill: Skill, *known_skills: InitialSkills | None) -> SkillInjected:
    """Return the event without pre-approval if the skill differs from any of the known versions."""
    if not event.preapproves or all(
        is_same_file(skills.get(escape_attribute(skill.mention.text), ""), skill)
        for skills in known_skills
        if skills is not None
    ):
        return event
    return msgspec.structs.replace(event, preapproves=False)


def strip_changed_marks(marks: bytes, skills: InitialSkills | None) -> bytes:
    """Return the marks for a child run; skills that have changed since the start lose their digests."""
    if skills is None:
        return marks
    marks_by_name = decode_marks(marks)
    return msgspec.json.encode(
        {name: mark if skills.get(name) == mark else mark[:MARK_CHARS] for name, mark in marks_by_name.items()}
    )
