"""Skills of installed Python packages, found without importing the packages.

A package ships them in its own `.agents/skills`, or names the directory as an entry point of the group
`skills_runtime.skills`. Packages in the current directory or the workspace are excluded: they are files of the
project.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from skills_runtime.skills.problems import Problem, failure
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.filesystem import FilesystemSource
from skills_runtime.skills.sources.source import Origin, Report, ScanOptions
from skills_runtime.text import one_line

ENTRY_POINTS = "skills_runtime.skills"
"""Entry point group of skill directories, such as `notes = "my_package.skills"`."""
CONVENTION = (".agents", "skills")


class PackagesSource:
    """Finds and reads the skills of installed packages."""

    def __init__(
        self,
        origin: Origin,
        packages: Sequence[str] = (),
        options: ScanOptions | None = None,
        *,
        search_path: Sequence[str] | None = None,
        workspace_root: Path | None = None,
    ) -> None:
        self.origin = origin
        self._packages = tuple(packages)
        self._options = options or ScanOptions()
        self._path = find_installed_paths(search_path, workspace_root)

    def skills(self) -> Report:
        """Report the skills of the configured packages, or of all packages."""
        roots = package_roots(self._packages, self._path)
        reports = [self._source(root).skills() for paths in roots.values() for root in paths]
        missing = [self._missing(name) for name in self._packages if not roots.get(name)]
        return Report(
            tuple(skill for report in reports for skill in report.skills),
            (*(problem for report in reports for problem in report.problems), *missing),
        )

    def body(self, skill: Skill) -> str:
        """Read the Markdown body of a skill."""
        for paths in package_roots(self._packages, self._path).values():
            for root in paths:
                if skill.path is not None and skill.path.is_relative_to(os.path.realpath(root)):
                    return self._source(root).body(skill)
        raise failure(
            "SKILL_BODY_READ_FAILED",
            f"the text of `{skill.mention.text}` cannot be read: its package is not installed any more",
            hint=f"check `{skill.locator}`",
        )

    def _source(self, root: Path) -> FilesystemSource:
        return FilesystemSource(self.origin, root, self._options)

    def _missing(self, package: str) -> Problem:
        return Problem(
            code="SKILL_SCAN_SOURCE_UNAVAILABLE",
            message=f"the Python package `{one_line(package)}` is not installed, or it has no skills",
            hint=f"install it, or take it out of the source `{self.origin.source_id}`",
            locator=f"package://{one_line(package)}",
            namespace=self.origin.namespace,
        )


def find_installed_paths(search_path: Sequence[str] | None = None, workspace_root: Path | None = None) -> list[str]:
    """Return the import path without the current directory and the workspace."""
    own = {os.path.realpath(os.curdir), *([os.path.realpath(workspace_root)] if workspace_root is not None else [])}
    paths = sys.path if search_path is None else search_path
    return [path for path in dict.fromkeys(paths) if path and os.path.realpath(path) not in own]


def package_roots(packages: Sequence[str], search_path: Sequence[str]) -> dict[str, list[Path]]:
    """Return the skill directories by package name; of all packages if `packages` is empty."""
    by_package: dict[str, list[Path]] = {}
    candidates = ((name, _find_inside(name, CONVENTION, search_path)) for name in packages)
    shipped = ((name, root) for name, root in candidates if root) if packages else _find_conventional(search_path)
    for name, root in (*shipped, *_find_declared(packages, search_path)):
        roots = by_package.setdefault(name, [])
        if root not in roots:
            roots.append(root)
    return dict(sorted(by_package.items()))


def _find_conventional(search_path: Iterable[str]) -> Iterator[tuple[str, Path]]:
    seen: set[str] = set()
    for directory in search_path:
        try:
            names = sorted(path.name for path in Path(directory).iterdir())
        except OSError:
            continue  # Python passes over it as well
        for name in names:
            root = Path(directory, name, *CONVENTION)
            if name.isidentifier() and name not in seen and root.is_dir():
                seen.add(name)
                yield name, root


def _find_declared(packages: Sequence[str], search_path: Sequence[str]) -> Iterator[tuple[str, Path]]:
    for distribution in metadata.distributions(path=list(search_path)):
        for point in distribution.entry_points:
            if point.group != ENTRY_POINTS:
                continue
            package, *subpath = point.value.partition(":")[0].strip().split(".")
            root = _find_inside(package, subpath, search_path) if not packages or package in packages else None
            if root is not None:
                yield package, root


def _find_inside(package: str, subpath: Sequence[str], search_path: Sequence[str]) -> Path | None:
    """Find a directory inside a package without importing it."""
    if not package.isidentifier():
        return None
    spec = PathFinder.find_spec(package, list(search_path))
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        root = Path(location, *subpath)
        if root.is_dir():
            return root
    return None
