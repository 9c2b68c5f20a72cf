"""The reference files of a skill: read when asked for, and never from outside its directory."""

import errno

import msgspec

from skills_runtime.skills.problems import SkillError, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.storage.nofollow import error_reason, open_directory, read_below, relative_parts

REFERENCES = "references"
ASSETS = "assets"


class Reference(msgspec.Struct, frozen=True):
    """The beginning of a reference file, or all of it."""

    data: bytes
    truncated: bool


def read_reference(skill: Skill, path: str, *, limit: int, allow_assets: bool = False) -> Reference:
    """At most `limit` bytes of a file below `references/`, or below `assets/` where that is allowed."""
    directory = skill.directory
    if directory is None:
        raise failure(
            "SKILL_REF_SOURCE_UNSUPPORTED",
            f"`{skill.mention.text}` is not a directory, so it has no reference files",
            hint="only skills from files have them",
        )
    parts = _parts(skill, path, allow_assets=allow_assets)
    try:
        with open_directory(directory) as top:
            data = read_below(top, parts, limit=limit + 1)
    except OSError as error:
        raise _unread(skill, path, error) from error
    return Reference(data[:limit], truncated=len(data) > limit)


def _parts(skill: Skill, path: str, *, allow_assets: bool) -> tuple[str, ...]:
    if path.startswith("/") or ".." in path.split("/"):
        raise _failure("SKILL_REF_PATH_ESCAPE", skill, path, "leads out of the skill")
    parts = relative_parts(path.removeprefix("./"))
    if parts is None or len(parts) == 1 or parts[0] not in (REFERENCES, ASSETS):
        raise _failure("SKILL_REF_PATH_INVALID", skill, path, f"is not a file below `{REFERENCES}/`")
    if parts[0] == ASSETS and not allow_assets:
        raise _failure("SKILL_REF_PATH_INVALID", skill, path, "is an asset, and reading assets is off")
    return parts


def _unread(skill: Skill, path: str, error: OSError) -> SkillError:
    if error.errno == errno.ELOOP:
        return _failure("SKILL_REF_PATH_ESCAPE", skill, path, "is a link, or there is one on the way to it")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return _failure("SKILL_REF_NOT_FOUND", skill, path, "does not exist")
    return _failure("SKILL_REF_PATH_INVALID", skill, path, f"cannot be read: {error_reason(error)}")


def _failure(code: str, skill: Skill, path: str, why: str) -> SkillError:
    return failure(
        code,
        f"{path[:200]!a} of `{skill.mention.text}` {why}",
        hint=f"write the path from the skill's own directory, such as `{REFERENCES}/guide.md`",
        mention=skill.mention.text,
    )
