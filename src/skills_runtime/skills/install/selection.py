"""Find the skills in a fetched source, select the requested ones and copy them to the staging directory.

Copies only regular files with safe names from inside the source.
"""

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.skills.archives import refuse_clashes, split_safe_path, unsafe_path_error
from skills_runtime.skills.install.hashing import MAX_HASHED_BYTES, MAX_HASHED_FILES
from skills_runtime.skills.sources.filesystem import Search
from skills_runtime.skills.sources.source import ScanOptions
from skills_runtime.skills.standard.directories import inspect_directory
from skills_runtime.storage import open_directory, open_new
from skills_runtime.text import one_line

_MAX_LISTED_NAMES = 20
_SCAN = ScanOptions(ignore_dot_entries=False, max_depth=8, max_dirs_per_root=5_000)
_CATALOGS = frozenset({".agents", ".claude", ".codex", ".cursor", ".github", ".gemini", ".opencode", ".claude-plugin"})
"""Hidden directories that are searched for skills; other hidden directories are skipped."""


class Offered(msgspec.Struct, frozen=True):
    """A skill available in a source."""

    name: str
    directory: Path
    problem: str | None
    """Why it cannot be used; None if it can."""
    path: str
    """Its directory in the source; empty if it is the whole source."""


def find_offered(root: Path, within: str | None = None) -> list[Offered]:
    """Return the skills of a source; nested skills belong to the outer one and are not listed."""
    base = Path(os.path.realpath(root))
    start = base.joinpath(*split_safe_path(within)) if within else base
    if not start.is_dir() or not Path(os.path.realpath(start)).is_relative_to(base):
        raise NotFound(f"there is no directory `{one_line(within or '')}` in the source", hint="check its path")
    with open_directory(Path(os.path.realpath(start))) as top:
        skill_paths = [match.parts for match in Search(_SCAN).skills(top)]
    offers: list[Offered] = []
    for parts in skill_paths:
        if any(part.startswith(".") and part not in _CATALOGS for part in parts):
            continue
        directory = start.joinpath(*parts)
        path = directory.relative_to(base).as_posix()
        inspected = inspect_directory(directory, mode="lenient")
        problem = next(
            (diagnostic.message for diagnostic in inspected.diagnostics if diagnostic.severity == "error"), None
        )
        name = inspected.skill.name if inspected.skill else inspected.run.name if inspected.run else ""
        if problem is None and (not name or name.startswith(".") or "/" in name):
            problem = "its name is not a valid directory name"
        offers.append(Offered(name or directory.name, directory, problem, "" if path == "." else path))
    return offers


def select_offered(offers: Sequence[Offered], names_or_paths: Sequence[str], *, everything: bool) -> list[Offered]:
    """Return the requested skills: by name or path, all usable ones, or the only one."""
    if not offers:
        raise NotFound("there is no skill in the source", hint="a skill is a directory with a `SKILL.md`")
    usable = [offer for offer in offers if offer.problem is None]
    if names_or_paths:
        chosen = [_find_offer(name, offers) for name in dict.fromkeys(names_or_paths)]
    elif len(offers) == 1 or (everything and not usable):
        chosen = list(offers[:1])
    elif everything:
        chosen = usable
    else:
        raise ValidationFailed(
            f"the source has {len(offers)} skills: {_list_names(offers)}",
            hint="choose with `--skill NAME`, or take `--all`",
        )
    broken = next((offer for offer in chosen if offer.problem is not None), None)
    if broken is not None:
        raise ValidationFailed(
            f"the skill `{one_line(broken.name)}` cannot be used: {broken.problem}",
            hint="`skills validate` shows everything that is wrong with a skill",
        )
    names = [offer.name for offer in chosen]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        paths = ", ".join(f"`{offer.path}`" for offer in chosen if offer.name == duplicate)
        raise ValidationFailed(
            f"several skills are called `{duplicate}`: {paths}", hint="choose one by its path: `--skill PATH`"
        )
    return chosen


def check_directory_name(name: str) -> str:
    """Return the name if it is a valid directory name; raise otherwise."""
    if len(split_safe_path(name)) != 1 or name.startswith("."):
        raise ValidationFailed(f"`{one_line(name)[:80]}` cannot be the name of a skill", hint="it needs another name")
    return name


def _find_offer(name_or_path: str, offers: Sequence[Offered]) -> Offered:
    matches = [offer for offer in offers if name_or_path in (offer.name, offer.path)]
    exact = [offer for offer in matches if offer.path == name_or_path]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    if matches:
        paths = ", ".join(f"`{offer.path}`" for offer in matches)
        raise ValidationFailed(f"several skills are called `{name_or_path}`: {paths}", hint="choose one by its path")
    raise NotFound(f"the source has no skill `{one_line(name_or_path)[:80]}`", hint=f"it has: {_list_names(offers)}")


def _list_names(offers: Sequence[Offered]) -> str:
    names = [f"`{offer.name}`" for offer in offers[:_MAX_LISTED_NAMES]]
    return ", ".join(names) + (
        f" and {len(offers) - _MAX_LISTED_NAMES} more" if len(offers) > _MAX_LISTED_NAMES else ""
    )


_EXCLUDED_DIRECTORIES = frozenset({".git", "node_modules", "__pycache__"})
"""Directories that are not part of a skill: history, third-party packages and bytecode."""
_EXCLUDED_FILES = frozenset({".DS_Store"})


def copy_skill(skill: Path, into: Path, *, within: Path) -> None:
    """Copy a skill to a new directory; links are followed as long as they stay `within` what was fetched."""
    outer = Path(os.path.realpath(within))
    copier = _SkillCopier(outer, into)
    copier.copy_directory(Path(os.path.realpath(skill)), (), frozenset())
    refuse_clashes(copier.files, copier.directories)


class _SkillCopier:
    """Copies a skill and records the copied paths."""

    def __init__(self, outer: Path, into: Path) -> None:
        self.files: list[tuple[str, ...]] = []
        self.directories: list[tuple[str, ...]] = []
        self._outer = outer
        self._into = into
        self._size = 0

    def copy_directory(self, source: Path, parts: tuple[str, ...], ancestors: frozenset[Path]) -> None:
        """Copy a directory; `ancestors` holds its parents, to detect links that form a cycle."""
        target = self._into.joinpath(*parts)
        target.mkdir(mode=0o755)
        with os.scandir(source) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            if entry.name in _EXCLUDED_DIRECTORIES or entry.name in _EXCLUDED_FILES:
                continue
            entry_parts = (*parts, entry.name)
            split_safe_path("/".join(entry_parts))
            self._copy_entry(Path(entry.path), entry_parts, ancestors | {source})

    def _copy_entry(self, source: Path, parts: tuple[str, ...], ancestors: frozenset[Path]) -> None:
        real = source
        if source.is_symlink():
            real = Path(os.path.realpath(source))
            if not real.is_relative_to(self._outer) or real in ancestors or not real.exists():
                raise unsafe_path_error("/".join(parts), "it is a link that leads out of what was fetched, or nowhere")
        mode = real.lstat().st_mode
        if stat.S_ISDIR(mode):
            self.directories.append(parts)
            self._check_limits(0)
            self.copy_directory(real, parts, ancestors)
        elif stat.S_ISREG(mode):
            self.files.append(parts)
            self._copy_file(real, parts, mode)
        else:
            raise unsafe_path_error("/".join(parts), "it is a device, a pipe or something else that is no file")

    def _copy_file(self, source: Path, parts: tuple[str, ...], mode: int) -> None:
        target = self._into.joinpath(*parts)
        fd = open_new(target, mode=0o755 if mode & stat.S_IXUSR else 0o644)
        with open(fd, "wb") as file, source.open("rb") as content:
            shutil.copyfileobj(content, file)
            self._check_limits(file.tell())

    def _check_limits(self, size: int) -> None:
        self._size += size
        if self._size > MAX_HASHED_BYTES or len(self.files) + len(self.directories) > MAX_HASHED_FILES:
            raise ValidationFailed(
                f"the skill has more than {MAX_HASHED_FILES} files or {MAX_HASHED_BYTES >> 20} MiB",
                hint="a skill is small; keep its data elsewhere",
            )
