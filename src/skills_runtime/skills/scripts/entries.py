"""Where a skill begins when it runs by itself, and which script a command of it starts."""

import stat
from pathlib import Path

import msgspec

from skills_runtime.skills.problems import failure
from skills_runtime.skills.scripts.inline_metadata import MAX_BYTES
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.standard.running import ENTRIES
from skills_runtime.storage.nofollow import error_reason, mode_below, open_directory, read_below

PROGRAMS = {".py": "python3", ".js": "node", ".ts": "tsx", ".sh": "bash"}
"""What runs each kind of file."""


class Entry(msgspec.Struct, frozen=True):
    """The file a skill begins with, and the program that runs it."""

    file: str
    program: str


def entry_of(skill: Skill) -> Entry:
    """The first of the files that its kind of program may begin with."""
    directory, run = skill.directory, skill.run
    assert directory is not None, "a skill with a `skill.yaml` is a directory"
    assert run is not None, "only a skill with a `skill.yaml` runs by itself"
    why = "there is none"
    for name in ENTRIES[run.runtime]:
        try:
            with open_directory(directory) as top:
                mode = mode_below(top, (name,))
        except FileNotFoundError:
            continue
        except OSError as error:
            why = error_reason(error)
            continue
        if stat.S_ISREG(mode):
            return Entry(name, PROGRAMS[Path(name).suffix])
        why = "it is not a file"
    names = " or ".join(f"`{name}`" for name in ENTRIES[run.runtime])
    raise failure(
        "SKILL_ACTION_ARGV_PATH_INVALID",
        f"`{skill.mention.text}` has no {names} to begin with: {why}",
        hint=f"a skill of the type `{run.runtime}` begins with {names}",
        mention=skill.mention.text,
    )


def script_in(skill: Skill, path: Path) -> bytes:
    """The beginning of one of the skill's own files, as much as matters; nothing where it cannot be read."""
    directory = skill.directory
    if directory is None or not path.is_relative_to(directory):
        return b""
    try:
        with open_directory(directory) as top:
            return read_below(top, path.relative_to(directory).parts, limit=MAX_BYTES)
    except OSError:
        return b""
