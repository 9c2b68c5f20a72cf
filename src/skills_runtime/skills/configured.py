"""From settings to a library; what cannot work is refused before anything is searched.

A library sees skills as they were at its first use: make one per run to see what changed between runs.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.skills.discovery.discover import discover, discovered_sources
from skills_runtime.skills.library import Library, Rules
from skills_runtime.skills.preflight import preflight
from skills_runtime.skills.problems import Problem, misconfigured
from skills_runtime.skills.sources import Origin, Row, ScanOptions
from skills_runtime.skills.sources.kinds import Supplies, source_for
from skills_runtime.skills.sources.refresh import Scans

if TYPE_CHECKING:
    from skills_runtime.config.skill_models import SkillsSettings
    from skills_runtime.skills.discovery import Places


class Supplied(msgspec.Struct, frozen=True, kw_only=True):
    """What a program hands over for sources outside this machine."""

    clients: Mapping[str, Any] = {}
    """For the ids of `redis` and `pgsql` sources: a client, a pool with `.connection()`, or a factory."""
    variable: Callable[[str], str | None] | None = None
    """Looks up the variable that `dsn_env` names; nothing means in the environment of the library."""
    scans: Scans | None = None
    """Where searches are kept under the refresh policies `ttl` and `manual`; nothing means in this process."""
    notes: tuple[Problem, ...] = ()
    """What is to be told with the skills."""


def library_from(
    settings: "SkillsSettings",
    workspace_root: Path,
    *,
    registered: Mapping[str, Sequence[Row]] | None = None,
    environment: Mapping[str, str] | None = None,
    sources_with: Supplied | None = None,
    places: "Places | None" = None,
) -> Library:
    """The library that settings describe; `registered` has the rows of `in-memory` sources by their ids.

    With `places`, skills are also discovered there, and what is found in files is remembered in an index.
    """
    supplied = sources_with or Supplied()
    _check(settings, supplied.clients)
    scan = ScanOptions(
        ignore_dot_entries=settings.scan.ignore_dot_entries,
        max_depth=settings.scan.max_depth,
        max_dirs_per_root=settings.scan.max_dirs_per_root,
        max_frontmatter_bytes=settings.scan.max_frontmatter_bytes,
    )
    sources = {source.id: source for source in settings.sources}
    supplies = Supplies(
        workspace_root=workspace_root,
        scan=scan,
        rows=registered or {},
        clients=supplied.clients,
        variable=supplied.variable or (environment or {}).get,
        scans=supplied.scans,
        index=places.index if places else None,
    )
    found = discover(places, settings) if places and settings.discovery.enabled else None
    return Library(
        [
            *(
                source_for(sources[name], Origin(space.id, space.namespace, name), settings, supplies)
                for space in settings.spaces
                if space.enabled
                for name in dict.fromkeys(space.sources)
            ),
            *(discovered_sources(found.roots, settings, supplies.index) if found else ()),
        ],
        rules=Rules(
            env_var_missing_policy=settings.env_var_missing_policy, max_body_bytes=settings.injection.max_bytes
        ),
        environment=environment,
        notes=(*supplied.notes, *(found.problems if found else ())),
    )


def _check(settings: "SkillsSettings", injected: Collection[str]) -> None:
    for problem in preflight(settings, injected=injected):
        if problem.severity == "error":
            raise misconfigured(problem.code, problem.message, hint=problem.hint)
