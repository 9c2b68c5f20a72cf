"""What an active skill permits: its `allowed-tools` as rules of the gate, which hold as long as it is active.

Only a skill on this machine that the user trusts permits anything, and a rule that denies still wins. Names that other
programs give to tools are understood.
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
"""What other programs call tools, in small letters, and what those are here."""

_ENTRY = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?:\((?P<pattern>.*)\))?", re.DOTALL)


class SkillPermissions:
    """Adds to the event of a skill what it permits."""

    def __init__(self, resolved: "Resolved") -> None:
        self._mode: AllowedTools = resolved.settings.safety.skill_tools
        by_project = {"skills.sources", "skills.spaces"} & resolved.by_project
        self._project_spaces = {space.id for space in resolved.settings.skills.spaces} if by_project else set[str]()

    def __call__(self, skill: Skill, event: SkillInjected) -> SkillInjected:
        """The event with the rules of the skill, or as it is where the skill may not permit anything."""
        declared = skill.metadata.get("allowed-tools", skill.metadata.get("allowed_tools"))
        if self._mode == "ignore" or declared is None:
            return event
        permits = [{"text": f"rules:\n{render_rule(rule)}"} for rule in rules_of(skill)]
        confines, preapproves = self._mode == "enforce", self._is_trusted(skill)
        return msgspec.structs.replace(event, permits=permits, preapproves=preapproves, confines=confines)

    def _is_trusted(self, skill: Skill) -> bool:
        """Whether somebody has said that this skill may be believed: it is found in a trusted place, or was named."""
        if skill.directory is None or skill.space_id in self._project_spaces:
            return False
        from skills_runtime.skills.install import consented  # loads all of settings, which most runs have no use for

        try:
            return not is_installed(skill.directory) or consented(skill.directory)
        except SkillsRuntimeError:  # a lock file that cannot be read says nothing in favour of a skill
            return False


def is_installed(directory: Path) -> bool:
    """Whether a lock file names the skill in a directory: then what is in it now must be what the user agreed to."""
    from skills_runtime.skills.install import project_places, read_lock, user_places

    project = directory.parents[2] if len(directory.parents) > 2 else directory
    for paths in (user_places(), project_places(project)):
        if directory.parent == paths.skills and directory.name in read_lock(paths).skills:
            return True
    return False


def rules_of(skill: Skill) -> list[Rule]:
    """The rules that `allowed-tools` amounts to; what cannot be understood permits nothing."""
    declared = skill.metadata.get("allowed-tools", skill.metadata.get("allowed_tools"))
    entries = allowed_tools(declared)
    # `Bash (git:*)` is no permission for everything, whatever its author meant.
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
    """The words a command has to begin with, or all of them where the pattern leaves nothing open."""
    beginning = re.fullmatch(r"(.*?)(?::\*|\s+\*)", pattern, re.DOTALL)
    prefix = tuple((beginning[1] if beginning else pattern).split())
    if not prefix or any("*" in word for word in prefix):
        return ()
    return prefix if beginning else (*prefix, END)


InitialSkills = Mapping[str, str]
"""What was known of skills then, by mention."""


def initial_skills(run: Run) -> InitialSkills | None:
    """What the log says of the skills a run began with; nothing where its model was told of no list."""
    first = run.view.conversation.initial_skills_blob
    try:
        return decode_marks(run.blobs.get(first)) if first else None
    except (SkillsRuntimeError, msgspec.MsgspecError):  # a run that came here without its blobs
        return {}


def revoke_stale_preapproval(event: SkillInjected, skill: Skill, *known_skills: InitialSkills | None) -> SkillInjected:
    """The event of a skill, which has nothing pass unasked unless the skill is what is known of it."""
    if not event.preapproves or all(
        is_same_file(skills.get(escape_attribute(skill.mention.text), ""), skill)
        for skills in known_skills
        if skills is not None
    ):
        return event
    return msgspec.structs.replace(event, preapproves=False)


def strip_changed_marks(marks: bytes, skills: InitialSkills | None) -> bytes:
    """Marks for a run that another one begins: of skills that are not what is known of them, without their digests."""
    if skills is None:
        return marks
    marks_by_name = decode_marks(marks)
    return msgspec.json.encode(
        {name: mark if skills.get(name) == mark else mark[:MARK_CHARS] for name, mark in marks_by_name.items()}
    )
