"""From settings to a library; what cannot work is refused before anything is searched.

A library sees skills as they were at its first use: make one per run to see what changed between runs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skills_runtime.skills.library import Library, Rules
from skills_runtime.skills.mentions import is_namespace
from skills_runtime.skills.neutral import one_line
from skills_runtime.skills.problems import misconfigured
from skills_runtime.skills.sources import FilesystemSource, MemorySource, Origin, Row, ScanOptions, Source

if TYPE_CHECKING:
    from skills_runtime.config.skill_models import SkillSource, SkillSpace, SkillsSettings

OPTIONS: Mapping[str, frozenset[str]] = {"filesystem": frozenset({"root"}), "in-memory": frozenset({"namespace"})}
"""The options that each kind of source may have; other kinds are not supported yet."""


def library_from(
    settings: "SkillsSettings",
    workspace_root: Path,
    *,
    registered: Mapping[str, Sequence[Row]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Library:
    """The library that settings describe; `registered` has the rows of `in-memory` sources by their ids."""
    _check(settings)
    scan = ScanOptions(
        ignore_dot_entries=settings.scan.ignore_dot_entries,
        max_depth=settings.scan.max_depth,
        max_dirs_per_root=settings.scan.max_dirs_per_root,
        max_frontmatter_bytes=settings.scan.max_frontmatter_bytes,
    )
    sources = {source.id: source for source in settings.sources}
    rows = registered or {}
    return Library(
        [
            _source(sources[name], Origin(space.id, space.namespace, name), workspace_root, scan, rows.get(name, ()))
            for space in settings.spaces
            if space.enabled
            for name in dict.fromkeys(space.sources)
        ],
        rules=Rules(
            env_var_missing_policy=settings.env_var_missing_policy, max_body_bytes=settings.injection.max_bytes
        ),
        environment=environment,
    )


def _source(
    source: "SkillSource", origin: Origin, workspace_root: Path, scan: ScanOptions, rows: Iterable[Row]
) -> Source:
    if source.type == "in-memory":
        return MemorySource(origin, rows)
    root = Path(str(source.options["root"]))
    try:
        return FilesystemSource(origin, workspace_root / root.expanduser(), scan)
    except (RuntimeError, ValueError) as error:
        raise misconfigured(
            "SKILL_CONFIG_INVALID_OPTION",
            f"the root of the source `{source.id}` is not a usable path: {error}",
            hint="name a directory",
        ) from error


def _check(settings: "SkillsSettings") -> None:
    _refuse_twice((space.id for space in settings.spaces), "space", "SKILL_CONFIG_DUPLICATE_SPACE_ID")
    _refuse_twice((source.id for source in settings.sources), "source", "SKILL_CONFIG_DUPLICATE_SOURCE_ID")
    for source in settings.sources:
        _check_source(source)
    known = {source.id for source in settings.sources}
    for space in settings.spaces:
        _check_space(space, known)


def _refuse_twice(ids: Iterable[str], what: str, code: str) -> None:
    for name, number in Counter(ids).items():
        if number > 1:
            raise misconfigured(code, f"{number} {what}s have the id `{name}`", hint="give each an id of its own")


def _check_space(space: "SkillSpace", known: set[str]) -> None:
    if not is_namespace(space.namespace):
        raise misconfigured(
            "SKILL_CONFIG_INVALID_SPACE_NAMESPACE",
            f"`{one_line(space.namespace)}` is not a namespace for the space `{space.id}`",
            hint="use up to seven words of small letters, digits and `-`, joined by `:`, such as `web:mvp`",
        )
    for name in space.sources:
        if name not in known:
            raise misconfigured(
                "SKILL_CONFIG_SPACE_SOURCE_NOT_FOUND",
                f"the space `{space.id}` names the source `{name}`, which does not exist",
                hint="add it to `skills.sources`, or take it out of the space",
            )


def _check_source(source: "SkillSource") -> None:
    allowed = OPTIONS.get(source.type)
    if allowed is None:
        raise misconfigured(
            "SKILL_CONFIG_UNKNOWN_SOURCE_TYPE",
            f"the source `{source.id}` has the type `{source.type}`, which is not supported here yet",
            hint=f"use one of: {', '.join(sorted(OPTIONS))}",
        )
    unknown = sorted(source.options.keys() - allowed)
    if unknown:
        raise misconfigured(
            "SKILL_CONFIG_INVALID_OPTION",
            f"a source of type `{source.type}` has no option `{one_line(unknown[0])}` (source `{source.id}`)",
            hint=f"it has: {', '.join(sorted(allowed))}",
        )
    if source.type == "filesystem":
        _check_root(source.id, source.options.get("root"))


def _check_root(source_id: str, root: Any) -> None:
    if root is None:
        raise misconfigured(
            "SKILL_CONFIG_MISSING_REQUIRED_OPTION",
            f"the source `{source_id}` has no `root`",
            hint="name the directory to search in its `options`",
        )
    if not isinstance(root, str) or not root.strip():
        raise misconfigured(
            "SKILL_CONFIG_INVALID_OPTION",
            f"the `root` of the source `{source_id}` must be a path",
            hint="write it as text",
        )
