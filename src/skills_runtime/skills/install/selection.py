"""Finds the skills in what was fetched, picks those that somebody wants, and copies them out.

Plain files, safe names, nothing from outside.
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

_SHOWN = 20
_SCAN = ScanOptions(ignore_dot_entries=False, max_depth=8, max_dirs_per_root=5_000)
_CATALOGS = frozenset({".agents", ".claude", ".codex", ".cursor", ".github", ".gemini", ".opencode", ".claude-plugin"})
"""Hidden directories in which repositories keep skills; what is hidden elsewhere is not offered."""


class Offered(msgspec.Struct, frozen=True):
    """A skill that was found in a source."""

    name: str
    directory: Path
    problem: str | None
    """Why it cannot be used, if it cannot."""
    path: str
    """Its directory in the source, empty where it is the source."""


def find_offered(root: Path, within: str | None = None) -> list[Offered]:
    """Each skill of a source; a skill inside another one belongs to that and is not offered by itself."""
    base = Path(os.path.realpath(root))
    start = base.joinpath(*split_safe_path(within)) if within else base
    if not start.is_dir() or not Path(os.path.realpath(start)).is_relative_to(base):
        raise NotFound(f"there is no directory `{one_line(within or '')}` in the source", hint="check its path")
    with open_directory(Path(os.path.realpath(start))) as top:
        found = [found.parts for found in Search(_SCAN).skills(top)]
    offers: list[Offered] = []
    for parts in found:
        if any(part.startswith(".") and part not in _CATALOGS for part in parts):
            continue
        directory = start.joinpath(*parts)
        path = directory.relative_to(base).as_posix()
        inspected = inspect_directory(directory, mode="lenient")
        problem = next((one.message for one in inspected.diagnostics if one.severity == "error"), None)
        name = inspected.skill.name if inspected.skill else inspected.run.name if inspected.run else ""
        if problem is None and (not name or name.startswith(".") or "/" in name):
            problem = "it has no name that can be that of a directory"
        offers.append(Offered(name or directory.name, directory, problem, "" if path == "." else path))
    return offers


def select_offered(offers: Sequence[Offered], wanted: Sequence[str], *, everything: bool) -> list[Offered]:
    """The skills that were asked for: by name or path, all that can be used, or the only one there is."""
    if not offers:
        raise NotFound("there is no skill in the source", hint="a skill is a directory with a `SKILL.md`")
    usable = [offer for offer in offers if offer.problem is None]
    if wanted:
        chosen = [_find_named(name, offers) for name in dict.fromkeys(wanted)]
    elif len(offers) == 1 or (everything and not usable):
        chosen = list(offers[:1])
    elif everything:
        chosen = usable
    else:
        raise ValidationFailed(
            f"the source has {len(offers)} skills: {_listed(offers)}",
            hint="choose with `--skill NAME`, or take `--all`",
        )
    broken = next((offer for offer in chosen if offer.problem is not None), None)
    if broken is not None:
        raise ValidationFailed(
            f"the skill `{one_line(broken.name)}` cannot be used: {broken.problem}",
            hint="`skills validate` shows everything that is wrong with a skill",
        )
    names = [offer.name for offer in chosen]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        paths = ", ".join(f"`{offer.path}`" for offer in chosen if offer.name == twice)
        raise ValidationFailed(
            f"several skills are called `{twice}`: {paths}", hint="choose one by its path: `--skill PATH`"
        )
    return chosen


def check_directory_name(name: str) -> str:
    """A name that can be that of a directory; others are refused."""
    if len(split_safe_path(name)) != 1 or name.startswith("."):
        raise ValidationFailed(f"`{one_line(name)[:80]}` cannot be the name of a skill", hint="it needs another name")
    return name


def _find_named(wanted: str, offers: Sequence[Offered]) -> Offered:
    named = [offer for offer in offers if wanted in (offer.name, offer.path)]
    exact = [offer for offer in named if offer.path == wanted]
    if len(exact or named) == 1:
        return (exact or named)[0]
    if named:
        paths = ", ".join(f"`{offer.path}`" for offer in named)
        raise ValidationFailed(f"several skills are called `{wanted}`: {paths}", hint="choose one by its path")
    raise NotFound(f"the source has no skill `{one_line(wanted)[:80]}`", hint=f"it has: {_listed(offers)}")


def _listed(offers: Sequence[Offered]) -> str:
    names = [f"`{offer.name}`" for offer in offers[:_SHOWN]]
    return ", ".join(names) + (f" and {len(offers) - _SHOWN} more" if len(offers) > _SHOWN else "")


_LEFT_OUT = frozenset({".git", "node_modules", "__pycache__"})
"""Directories that are no part of a skill: history, what others wrote, and what nobody can read."""
_LITTER = frozenset({".DS_Store"})


def copy_skill(skill: Path, into: Path, *, within: Path) -> None:
    """Copy a skill to a new directory; links are followed as long as they stay `within` what was fetched."""
    outer = Path(os.path.realpath(within))
    copying = _Copying(outer, into)
    copying.directory(Path(os.path.realpath(skill)), (), frozenset())
    refuse_clashes(copying.files, copying.directories)


class _Copying:
    """A copy under way, and what it has met."""

    def __init__(self, outer: Path, into: Path) -> None:
        self.files: list[tuple[str, ...]] = []
        self.directories: list[tuple[str, ...]] = []
        self._outer = outer
        self._into = into
        self._size = 0

    def directory(self, source: Path, parts: tuple[str, ...], above: frozenset[Path]) -> None:
        """Copy what is in a directory; `above` has those on the way to it, so that no link turns in a circle."""
        target = self._into.joinpath(*parts)
        target.mkdir(mode=0o755)
        with os.scandir(source) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            if entry.name in _LEFT_OUT or entry.name in _LITTER:
                continue
            here = (*parts, entry.name)
            split_safe_path("/".join(here))
            self._entry(Path(entry.path), here, above | {source})

    def _entry(self, source: Path, here: tuple[str, ...], above: frozenset[Path]) -> None:
        real = source
        if source.is_symlink():
            real = Path(os.path.realpath(source))
            if not real.is_relative_to(self._outer) or real in above or not real.exists():
                raise unsafe_path_error("/".join(here), "it is a link that leads out of what was fetched, or nowhere")
        mode = real.lstat().st_mode
        if stat.S_ISDIR(mode):
            self.directories.append(here)
            self._room(0)
            self.directory(real, here, above)
        elif stat.S_ISREG(mode):
            self.files.append(here)
            self._file(real, here, mode)
        else:
            raise unsafe_path_error("/".join(here), "it is a device, a pipe or something else that is no file")

    def _file(self, source: Path, here: tuple[str, ...], mode: int) -> None:
        target = self._into.joinpath(*here)
        fd = open_new(target, mode=0o755 if mode & stat.S_IXUSR else 0o644)
        with open(fd, "wb") as file, source.open("rb") as content:
            shutil.copyfileobj(content, file)
            self._room(file.tell())

    def _room(self, size: int) -> None:
        self._size += size
        if self._size > MAX_HASHED_BYTES or len(self.files) + len(self.directories) > MAX_HASHED_FILES:
            raise ValidationFailed(
                f"the skill has more than {MAX_HASHED_FILES} files or {MAX_HASHED_BYTES >> 20} MiB",
                hint="a skill is small; keep its data elsewhere",
            )
