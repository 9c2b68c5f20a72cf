"""Find the existing skill directories and select those to use: each once, inside its project, and trusted."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.skills.discovery.plugins import find_duplicate_names, find_plugins, read_plugin
from skills_runtime.skills.discovery.roots import (
    DiscoveryPaths,
    Root,
    Scope,
    find_repository,
    project_roots,
    system_roots,
    user_roots,
)
from skills_runtime.skills.discovery.trust import TrustedPaths, TrustStore
from skills_runtime.skills.library import DISCOVERED
from skills_runtime.skills.problems import Problem
from skills_runtime.text import one_line

if TYPE_CHECKING:
    from skills_runtime.config import SkillDiscovery, SkillsSettings
    from skills_runtime.skills.skill import Skill
    from skills_runtime.skills.sources import IndexedSource, Origin, Report


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """The discovered directories, before any skill is read."""

    project: Path
    is_trusted: bool
    roots: tuple[Root, ...] = ()
    """The directories to use, the nearest first, without links in their paths."""
    untrusted: tuple[Root, ...] = ()
    """The directories of a project that is not trusted."""
    trusted_skills: frozenset[str] = frozenset()
    """The skills in them that the user trusts by themselves."""
    problems: tuple[Problem, ...] = ()


def discover(paths: DiscoveryPaths, settings: "SkillsSettings") -> Discovery:
    """Find every skill directory without searching it."""
    project = find_repository(str(paths.workspace))
    candidates = list(_find_roots(paths, project, settings.discovery)) if settings.discovery.enabled else []
    if not candidates:
        return Discovery(project=project, is_trusted=False)
    problems = [item for item in candidates if isinstance(item, Problem)]
    by_path, roots = dict[str, Root](), [item for item in candidates if isinstance(item, Root)]
    # In the home directory, project and user directories coincide; there they belong to the user.
    for root in sorted(roots, key=lambda item: item.scope == "project"):
        resolved = _resolve_root(root, project)
        if isinstance(resolved, Root):
            by_path.setdefault(resolved.path, resolved)
        elif resolved is not None:
            problems.append(resolved)
    ordered = sorted(by_path.values(), key=lambda item: item.level)
    in_project = [root for root in ordered if root.scope == "project"]
    trusted = _read_trusted(paths, problems) if in_project else TrustedPaths()
    is_trusted = str(project) in trusted.folders
    skills = _skills_below(() if is_trusted else trusted.skills, in_project)
    if in_project and not is_trusted and not _all_trusted(in_project, skills):
        problems.append(_build_untrusted_problem(project, in_project))
    counting = tuple(root for root in ordered if is_trusted or root.scope != "project")
    problems += find_duplicate_names(counting)
    return Discovery(
        project=project,
        is_trusted=is_trusted,
        roots=counting,
        untrusted=() if is_trusted else tuple(in_project),
        trusted_skills=skills,
        problems=tuple(problems),
    )


def _skills_below(skills: Iterable[str], roots: Sequence[Root]) -> frozenset[str]:
    return frozenset(path for path in skills if any(path.startswith(f"{root.path}/") for root in roots))


def _all_trusted(roots: Sequence[Root], skills: frozenset[str]) -> bool:
    """Return whether the user trusts everything in these directories, skill by skill."""
    try:
        entries = [entry for root in roots for entry in os.scandir(root.path) if entry.is_dir()]
        return bool(skills) and all(os.path.realpath(entry.path) in skills for entry in entries)
    except OSError:
        return False


class TrustedSkills:
    """A source narrowed to single trusted skills, or to the others."""

    def __init__(self, files: "IndexedSource", trusted: frozenset[str], *, others: bool = False) -> None:
        self._files = files
        self._trusted = trusted
        self._others = others

    @property
    def origin(self) -> "Origin":
        """The origin of its skills."""
        return self._files.origin

    @property
    def root(self) -> Path:
        """The searched directory."""
        return self._files.root

    def skills(self) -> "Report":
        """Search the directory and leave out what is not selected, with its problems."""
        report = self._files.skills()
        return msgspec.structs.replace(
            report,
            skills=tuple(skill for skill in report.skills if self._selects(str(skill.directory))),
            problems=tuple(
                problem
                for problem in report.problems
                if self._selects(problem.locator, os.path.dirname(problem.locator))  # noqa: PTH120
            ),
        )

    def has_changed(self) -> bool:
        """Return whether the directory has changed since the last search."""
        return self._files.has_changed()

    def body(self, skill: "Skill") -> str:
        """Read the Markdown body of a skill."""
        return self._files.body(skill)

    def directories(self) -> Iterator[Path]:
        """Yield the directories to watch for changes."""
        return self._files.directories()

    def _selects(self, *paths: str) -> bool:
        return any(path in self._trusted for path in paths) != self._others


def build_trusted_sources(
    discovery: Discovery, settings: "SkillsSettings", index: Path | None
) -> "list[IndexedSource | TrustedSkills]":
    """Build the sources of what may be used: trusted directories, and single trusted skills in others."""
    singles = discovery.trusted_skills
    roots = [root for root in discovery.untrusted if any(path.startswith(f"{root.path}/") for path in singles)]
    return [
        *build_sources(discovery.roots, settings, index),
        *(TrustedSkills(source, singles) for source in build_sources(roots, settings, index)),
    ]


def build_untrusted_sources(
    discovery: Discovery, settings: "SkillsSettings", index: Path | None
) -> "list[TrustedSkills]":
    """Build the sources of what may not be used because the user does not trust it."""
    sources = build_sources(discovery.untrusted, settings, index)
    return [TrustedSkills(source, discovery.trusted_skills, others=True) for source in sources]


def build_sources(roots: Iterable[Root], settings: "SkillsSettings", index: Path | None) -> "list[IndexedSource]":
    """Build the sources that search these directories."""
    from skills_runtime.skills.sources import FilesystemSource, IndexedSource, Origin, ScanOptions

    limits = settings.discovery
    options = ScanOptions(
        max_depth=limits.max_depth,
        max_dirs_per_root=limits.max_dirs_per_root,
        max_entries_per_root=limits.max_entries_per_root,
        max_frontmatter_bytes=settings.scan.max_frontmatter_bytes,
        settings="skills.discovery",
    )
    return [
        IndexedSource(
            FilesystemSource(Origin(DISCOVERED, root.namespace, root.label, root.level), Path(root.path), options),
            index,
        )
        for root in roots
    ]


def _find_roots(paths: DiscoveryPaths, project: Path, discovery: "SkillDiscovery") -> Iterator[Root | Problem]:
    """Yield the candidates; a missing parent directory rules most of them out with one cheap check."""
    frozen: Any = discovery  # frozen models are hashable, but their type does not say so
    candidates, plugins = list_candidates(paths, project, frozen)
    for parent, roots in candidates:
        if os.access(parent, os.F_OK):
            yield from roots
    if discovery.plugins and discovery.project:
        yield from read_plugin(str(project), "project")
    for directory, scope in plugins:
        if os.access(directory, os.F_OK):
            yield from find_plugins(directory, scope)
    if discovery.packages:
        from skills_runtime.skills.discovery.plugins import find_package_roots

        yield from find_package_roots(paths.workspace)


_Candidates = tuple[tuple[str, tuple[Root, ...]], ...]
_Plugins = tuple[tuple[str, Scope], ...]


@lru_cache(maxsize=64)
def list_candidates(paths: DiscoveryPaths, project: Path, discovery: "SkillDiscovery") -> tuple[_Candidates, _Plugins]:
    """List every candidate directory by its parent, and the directories that may contain plugins."""
    roots = [
        *(project_roots(paths, project, discovery) if discovery.project else ()),
        *(user_roots(paths, project, discovery) if discovery.user else ()),
        *(system_roots(discovery) if discovery.system else ()),
    ]
    by_parent: dict[str, tuple[Root, ...]] = {}
    for root in roots:
        parent = root.path.rpartition("/")[0] or "/"
        by_parent[parent] = (*by_parent.get(parent, ()), root)
    return tuple(by_parent.items()), _plugin_directories(paths, project, discovery)


def _plugin_directories(paths: DiscoveryPaths, project: Path, discovery: "SkillDiscovery") -> _Plugins:
    if not discovery.plugins:
        return ()
    project_plugins: _Plugins = tuple(
        (f"{project}/{name}/plugins", "project") for name in (".agents", ".skills_runtime_sdk")
    )
    user_plugins: _Plugins = (
        (f"{paths.home}/.agents/plugins", "user"),
        (f"{paths.own}/plugins", "user"),
    )
    return (*(project_plugins if discovery.project else ()), *(user_plugins if discovery.user else ()))


def _resolve_root(root: Root, project: Path) -> Root | Problem | None:
    """Return the directory with links resolved, or nothing if it does not exist."""
    try:
        is_directory = stat.S_ISDIR(os.stat(root.path).st_mode)  # noqa: PTH116 - done for every run
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        is_directory = error.errno != errno.ELOOP  # the scan reports every other problem
        if not is_directory:
            return _link_problem(root, "it is a circular link")
    if not is_directory:
        return None
    real = os.path.realpath(root.path)
    if root.scope == "project" and not f"{real}/".startswith(f"{str(project).rstrip('/')}/"):
        return _link_problem(root, "it is a link that leads out of the project")
    return root if real == root.path else msgspec.structs.replace(root, path=real)


def _link_problem(root: Root, reason: str) -> Problem:
    return Problem(
        code="SKILL_SCAN_LINK_SKIPPED",
        message=f"`{one_line(root.path)}` is not searched for skills: {reason}",
        hint="replace the link by a directory",
        severity="warning",
        locator=one_line(root.path),
        namespace=root.namespace,
    )


def is_trusted(paths: DiscoveryPaths) -> bool:
    """Return whether the user trusts the project."""
    return str(find_repository(str(paths.workspace))) in _read_trusted(paths, []).folders


def build_untrusted_spaces_problem(paths: DiscoveryPaths) -> Problem:
    """Build the problem of spaces configured by an untrusted project."""
    return _build_untrusted_problem(find_repository(str(paths.workspace)), ())


def _read_trusted(paths: DiscoveryPaths, problems: list[Problem]) -> TrustedPaths:
    trusted = TrustStore(paths.state).read()
    if isinstance(trusted, Problem):
        problems.append(trusted)
        return TrustedPaths()
    return trusted


def _build_untrusted_problem(project: Path, roots: Iterable[Root]) -> Problem:
    return Problem(
        code="SKILL_FOLDER_UNTRUSTED",
        message=f"the skills of `{one_line(str(project))}` are not used: the project is not trusted",
        hint="review them with `skills list`, then run `skills trust`, or `skills trust NAME` for one of them",
        severity="warning",
        locator=one_line(str(project)),
        details={"directories": [one_line(root.path) for root in roots]},
    )
