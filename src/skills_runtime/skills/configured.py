"""From settings to a library; what cannot work is refused before anything is searched.

A library sees skills as they were at its first use: make one per run to see what changed between runs.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skills_runtime.skills.catalog import budget_for
from skills_runtime.skills.discovery import discover, discovered_sources, is_trusted, places_of, untrusted_spaces
from skills_runtime.skills.library import Library, Rules
from skills_runtime.skills.preflight import preflight
from skills_runtime.skills.problems import Problem, failure, misconfigured
from skills_runtime.skills.prompt import PROFILES
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.filesystem import FilesystemSource
from skills_runtime.skills.sources.memory import MemorySource, Row
from skills_runtime.skills.sources.refresh import Scans, refreshing
from skills_runtime.skills.sources.source import Origin, Report, ScanOptions, Source
from skills_runtime.skills.sources.stored import Connect, Dsn, handed_over

if TYPE_CHECKING:
    from skills_runtime.config import Resolved
    from skills_runtime.config.models import SkillSource, SkillsSettings
    from skills_runtime.skills.discovery import Places
    from skills_runtime.skills.sources.bundles import Bundles

Lookup = Callable[[str], str | None]


class Supplies(msgspec.Struct, frozen=True, kw_only=True):
    """What sources are made with besides their own settings."""

    workspace_root: Path
    scan: ScanOptions
    rows: Mapping[str, Sequence[Row]] = {}
    """The rows of `in-memory` sources by their ids."""
    clients: Mapping[str, Any] = {}
    """Clients, pools or factories by the ids of the `redis` and `pgsql` sources that use them."""
    variable: Lookup = lambda name: None
    """The value of an environment variable."""
    scans: Scans | None = None
    """Where searches are kept; nothing means those of this process."""
    index: Path | None = None
    """Where what is found in files is remembered; nothing means nowhere."""


class Unconnected:
    """A source in the place of one that has no address; it tells so and has no skills."""

    def __init__(self, origin: Origin, problem: Problem) -> None:
        self.origin = origin
        self._problem = msgspec.structs.replace(problem, namespace=origin.namespace)

    def skills(self) -> Report:
        """Nothing but the problem."""
        return Report((), (self._problem,))

    def body(self, skill: Skill) -> str:
        """No skill can be read here."""
        why = f"the text of `{skill.mention.text}` cannot be read: {self._problem.message}"
        raise failure("SKILL_BODY_READ_FAILED", why, hint=self._problem.hint)


def source_for(source: "SkillSource", origin: Origin, settings: "SkillsSettings", supplies: Supplies) -> Source:
    """The source that settings describe, searched as often as they say."""
    if source.type == "in-memory":
        return MemorySource(origin, supplies.rows.get(source.id, ()))
    made = _MAKERS[source.type](source, origin, settings, supplies)
    if isinstance(made, Unconnected):
        return made
    key = (source.type, repr(sorted(source.options.items())), origin, str(supplies.workspace_root), supplies.scan)
    told = supplies.clients.get(source.id)
    address = hash(supplies.variable(str(source.options.get("dsn_env", "")))) if told is None else id(told)
    return refreshing(made, (key, address), settings.scan.refresh_policy, settings.scan.ttl_sec, supplies.scans)


def _filesystem(source: "SkillSource", origin: Origin, settings: "SkillsSettings", supplies: Supplies) -> Source:
    del settings
    root = Path(str(source.options["root"]))
    try:
        files = FilesystemSource(origin, supplies.workspace_root / root.expanduser(), supplies.scan)
    except (RuntimeError, ValueError) as error:
        raise misconfigured(
            "SKILL_CONFIG_INVALID_OPTION",
            f"the root of the source `{source.id}` is not a usable path: {error}",
            hint="name a directory",
        ) from error
    if supplies.index is None:
        return files
    from skills_runtime.skills.sources import IndexedSource

    return IndexedSource(files, supplies.index)


def _packages(source: "SkillSource", origin: Origin, settings: "SkillsSettings", supplies: Supplies) -> Source:
    from skills_runtime.skills.sources.packages import PackagesSource

    del settings
    named = [str(one) for one in source.options.get("packages") or ()]
    return PackagesSource(origin, named, supplies.scan, workspace_root=supplies.workspace_root)


def _redis(source: "SkillSource", origin: Origin, settings: "SkillsSettings", supplies: Supplies) -> Source:
    from skills_runtime.skills.sources.redis import RedisSource, connection_to

    found = _connection(source, supplies, connection_to, "pipeline")
    if isinstance(found, Problem):
        return Unconnected(origin, found)
    connect, dsn = found
    return RedisSource(
        origin,
        connect,
        key_prefix=str(source.options["key_prefix"]),
        bundles=_bundles(settings, supplies.workspace_root),
        dsn=dsn,
        max_field_bytes=supplies.scan.max_frontmatter_bytes,
    )


def _pgsql(source: "SkillSource", origin: Origin, settings: "SkillsSettings", supplies: Supplies) -> Source:
    from skills_runtime.skills.sources.pgsql import PgsqlSource, connection_to

    del settings
    found = _connection(source, supplies, connection_to, "cursor")
    if isinstance(found, Problem):
        return Unconnected(origin, found)
    connect, dsn = found
    table = (str(source.options["schema"]), str(source.options["table"]))
    return PgsqlSource(origin, connect, table=table, dsn=dsn, max_field_bytes=supplies.scan.max_frontmatter_bytes)


def _connection(
    source: "SkillSource", supplies: Supplies, connection_to: Callable[[Dsn], Connect], marks: str
) -> tuple[Connect, Dsn | None] | Problem:
    """What a program injected for this source, or a connection to the address in its variable."""
    given = supplies.clients.get(source.id)
    if given is not None:
        try:
            return handed_over(given, marks), None
        except TypeError as error:
            raise misconfigured(
                "SKILL_CONFIG_INVALID_OPTION",
                f"what was injected for the source `{source.id}` cannot be used: {error}",
                hint="inject one of these",
            ) from error
    variable = str(source.options["dsn_env"])
    text = supplies.variable(variable)
    if not text:
        return Problem(
            code="SKILL_SCAN_SOURCE_UNAVAILABLE",
            message=f"the source `{source.id}` has no address: the variable `{variable}` is not set",
            hint=f"set `{variable}`",
            locator=f"{source.type}://{source.id}",
        )
    dsn = Dsn(variable, text)
    return connection_to(dsn), dsn


def _bundles(settings: "SkillsSettings", workspace_root: Path) -> "Bundles":
    from skills_runtime.skills.sources.bundles import Budget, Bundles

    limits = settings.bundles
    cache = workspace_root / limits.cache_dir
    if not cache.is_relative_to(workspace_root):
        cache = Path(os.path.realpath(cache))  # the user's own choice; links inside a workspace are the project's
    return Bundles(
        cache,
        Budget(
            max_bytes=limits.max_bytes,
            extracted=limits.max_extracted_bytes,
            files=limits.max_files,
            single_file=limits.max_single_file_bytes,
        ),
    )


_MAKERS: Mapping[str, Callable[["SkillSource", Origin, "SkillsSettings", Supplies], Source]] = {
    "filesystem": _filesystem,
    "packages": _packages,
    "redis": _redis,
    "pgsql": _pgsql,
}


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


def library_of(resolved: "Resolved", variables: Mapping[str, str] | None = None, *, looking: bool = False) -> Library:
    """The skills that the settings name or allow to be found; `variables` are what somebody told us besides.

    Whoever is only `looking` also sees what a project names that nobody trusts.
    """
    process, settings = resolved.environment.process, resolved.settings
    places = places_of(resolved.workspace_root, process)
    skills, notes = settings.skills, ()
    named = {"skills.spaces", "skills.sources"} & resolved.by_project
    if named and not looking and not is_trusted(places):
        skills, notes = skills.model_copy(update={"spaces": ()}), (untrusted_spaces(places),)
    library = library_from(
        skills,
        resolved.workspace_root,
        environment={**process, **(variables or {})},
        sources_with=Supplied(variable=resolved.environment.get, notes=notes),
        places=places,
    )
    catalog, window = settings.skills.catalog, settings.run.context_recovery.window_tokens
    tokens = budget_for(window, share=catalog.share, max_tokens=catalog.max_tokens)
    render = settings.prompt.skill_injection.render or PROFILES[settings.prompt.profile].render
    library.rules = msgspec.structs.replace(library.rules, catalog_tokens=tokens, whole_texts=render == "body")
    return library


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


_PACKAGE = Path(__file__).resolve().parent.parent

BUNDLED_NAMESPACE = "web:mvp"
"""The namespace they are mentioned under unless somebody configures another one."""


def bundled_skills() -> Path:
    """The directory of the bundled skills: inside the installed package, or in the checkout it is run from."""
    installed = _PACKAGE / "bundled_skills"
    return installed if installed.is_dir() else _PACKAGE.parent.parent / "skills"
