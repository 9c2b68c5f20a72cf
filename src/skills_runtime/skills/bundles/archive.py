"""What is in a bundle: plain files below `actions/` and `references/`, and nothing else."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.skills.bundles.budget import Budget
from skills_runtime.skills.install.archives import Archive, Member, bad_archive, checked_places, is_bomb
from skills_runtime.skills.install.zip_archives import opened_zip
from skills_runtime.skills.problems import SkillError, failure

DIRECTORIES = ("actions", "references")
"""What a bundle may hold."""

Parts = tuple[str, ...]


class File(msgspec.Struct, frozen=True):
    """One file of a bundle."""

    data: bytes
    executable: bool


def contents_of(zip_file: Path, budget: Budget, mention: str) -> dict[Parts, File]:
    """Every file of a bundle by its path; one thing that is not as it must be refuses the whole bundle."""
    limits = budget.for_reading
    try:
        with opened_zip(zip_file, limits) as archive:
            members = archive.members()
            _check_sizes(members, budget, mention)
            places = checked_places(members, limits)
            for member, parts in zip(members, places, strict=True):
                _check_place(member, parts, mention)
            return _files(archive, members, budget, mention)
    except ValidationFailed as error:
        unsafe = error.details.get("code") == "SKILL_INSTALL_UNSAFE_PATH"
        code = "SKILL_BUNDLE_CONTRACT_INVALID" if unsafe else "SKILL_BUNDLE_INVALID"
        raise refused(code, mention, error.message) from error


def refused(code: str, mention: str, why: str, *, hint: str = "ask whoever published the skill") -> SkillError:
    """The error for a bundle that is not used."""
    return failure(code, f"the bundle of `{mention}` was refused: {why}", hint=hint, mention=mention)


def _check_sizes(members: Sequence[Member], budget: Budget, mention: str) -> None:
    if len(members) > budget.max_files:
        raise _large(mention, f"it has {len(members)} entries, and {budget.max_files} are allowed", "max_files")
    for member in members:
        if member.size > budget.max_single_file_bytes:
            why = f"{member.name[:100]!a} has more than {budget.max_single_file_bytes} bytes"
            raise _large(mention, why, "max_single_file_bytes")
        if is_bomb(member.size, member.packed or 0, budget.for_reading):
            why = f"{member.name[:100]!a} grows more than {budget.ratio} times"
            raise refused("SKILL_BUNDLE_TOO_LARGE", mention, why)
    if sum(member.size for member in members) > budget.max_extracted_bytes:
        why = f"it unpacks to more than {budget.max_extracted_bytes} bytes"
        raise _large(mention, why, "max_extracted_bytes")


def _large(mention: str, why: str, setting: str) -> SkillError:
    return refused("SKILL_BUNDLE_TOO_LARGE", mention, why, hint=f"raise `skills.bundles.{setting}` if that is right")


def _check_place(member: Member, parts: Parts | None, mention: str) -> None:
    inside = parts is not None and parts[:1] and parts[0] in DIRECTORIES
    if not inside or (member.kind == "file" and parts is not None and len(parts) == 1):
        why = f"{member.name[:100]!a} is not below `actions/` or `references/`"
        raise refused("SKILL_BUNDLE_CONTRACT_INVALID", mention, why)


def _files(archive: Archive, members: Sequence[Member], budget: Budget, mention: str) -> dict[Parts, File]:
    """The files as they are, whatever the archive says of their sizes."""
    found: dict[Parts, File] = {}
    for number, member in enumerate(members):
        if member.kind == "file":
            with closing(archive.open(number)) as content:
                data = content.read(member.size + 1)
            if len(data) != member.size:
                raise bad_archive(f"{member.name[:100]!a} has not the size it says")
            parts = tuple(member.name.removeprefix("./").split("/"))
            found[parts] = File(data, member.executable)
    if not found:
        raise refused("SKILL_BUNDLE_CONTRACT_INVALID", mention, "it holds no files")
    return found
