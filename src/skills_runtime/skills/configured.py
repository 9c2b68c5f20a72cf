"""Build a library from settings; invalid settings are refused before anything is searched.

A library sees skills as they were at its first use: build one per run to see changes between runs.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from skills_runtime.skills.bundled import bundled_source
from skills_runtime.skills.catalog import compute_budget
from skills_runtime.skills.discovery import (
    build_trusted_sources,
    build_untrusted_sources,
    build_untrusted_spaces_problem,
    discover,
    is_trusted,
    resolve_discovery_paths,
)
from skills_runtime.skills.library import Library, Rules
from skills_runtime.skills.problems import Problem, config_error, failure
from skills_runtime.skills.prompt_prefix import PROFILES
from skills_runtime.skills.skill import Skill, is_namespace
from skills_runtime.skills.sources.filesystem import FilesystemSource
from skills_runtime.skills.sources.memory import MemorySource, Row
from skills_runtime.skills.sources.refresh import Scans, apply_refresh_policy
from skills_runtime.skills.sources.source import Origin, Report, ScanOptions, Source
from skills_runtime.skills.sources.stored import Connect, Dsn, adapt_client
from skills_runtime.skills.standard.skill_yaml import is_variable
from skills_runtime.text import one_line

if TYPE_CHECKING:
    from skills_runtime.config import Resolved, SkillSource, SkillSpace, SkillsSettings
    from skills_runtime.skills.discovery import DiscoveryPaths
    from skills_runtime.skills.sources.bundles import Bundles

OPTIONS: Mapping[str, Mapping[str, bool]] = {
    "filesystem": {"root": True},
    "in-memory": {"namespace": False},
    "packages": {"packages": False},
    "redis": {"dsn_env": True, "key_prefix": True},
    "pgsql": {"dsn_env": True, "schema": True, "table": True},
}
"""The options of each source type, and whether they are required."""
_OPTION_DESCRIPTIONS: Mapping[str, str] = {
    "root": "the directory to search",
    "dsn_env": "the variable that holds the address of the server",
    "key_prefix": "what every key begins with",
    "schema": "the schema of the table",
    "table": "the table to read",
}
_PACKAGE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_IDENTIFIER_BYTES = 63


def preflight(settings: "SkillsSettings", *, injected: Collection[str] = ()) -> tuple[Problem, ...]:
    """Return every problem in the settings; sources with an injected client need no address."""
    source_ids = {source.id for source in settings.sources}
    unused = _problem(
        "VERSIONING_IGNORED",
        "`skills.versioning` does nothing here",
        "remove it; `skills lock` pins installed skills",
        path="skills.versioning",
        severity="warning",
    )
    return (
        *_find_duplicate_ids((space.id for space in settings.spaces), "space", "SKILL_CONFIG_DUPLICATE_SPACE_ID"),
        *_find_duplicate_ids((source.id for source in settings.sources), "source", "SKILL_CONFIG_DUPLICATE_SOURCE_ID"),
        *(problem for source in settings.sources for problem in _check_source(source, source.id in injected)),
        *(problem for space in settings.spaces for problem in _check_space(space, source_ids)),
        *((unused,) if settings.versioning.enabled or settings.versioning.strategy else ()),
    )


def _problem(code: str, message: str, hint: str, *, path: str, severity: Any = "error") -> Problem:
    return Problem(code=f"SKILL_CONFIG_{code}", message=message, hint=hint, severity=severity, details={"path": path})


def _find_duplicate_ids(ids: Iterable[str], kind: str, code: str) -> Iterator[Problem]:
    for name, number in Counter(ids).items():
        if number > 1:
            message = f"{number} {kind}s have the id `{one_line(name)}`"
            details = {"path": f"skills.{kind}s", "id": name}
            yield Problem(code=code, message=message, hint="give each a unique id", details=details)


def _check_space(space: "SkillSpace", source_ids: set[str]) -> Iterator[Problem]:
    path = f"skills.spaces[{space.id}]"
    if not is_namespace(space.namespace):
        yield _problem(
            "INVALID_SPACE_NAMESPACE",
            f"`{one_line(space.namespace)}` is not a namespace for the space `{space.id}`",
            "use up to seven segments of lower-case letters, digits and `-`, joined by `:`, such as `web:mvp`",
            path=f"{path}.namespace",
        )
    for name in space.sources:
        if name not in source_ids:
            yield _problem(
                "SPACE_SOURCE_NOT_FOUND",
                f"the space `{space.id}` names the source `{name}`, which does not exist",
                "add it to `skills.sources`, or remove it from the space",
                path=f"{path}.sources",
            )


def _check_source(source: "SkillSource", injected: bool) -> Iterator[Problem]:  # noqa: FBT001 - one source, one answer
    path = f"skills.sources[{source.id}]"
    options = OPTIONS.get(source.type)
    if options is None:
        yield _problem(
            "UNKNOWN_SOURCE_TYPE",
            f"the source `{source.id}` has the unknown type `{one_line(source.type)}`",
            f"use one of: {', '.join(sorted(OPTIONS))}",
            path=f"{path}.type",
        )
        return
    for name in sorted(source.options.keys() - options.keys()):
        yield _problem(
            "INVALID_OPTION",
            f"a source of type `{source.type}` has no option `{one_line(name)}` (source `{source.id}`)",
            f"it has: {', '.join(sorted(options))}",
            path=f"{path}.options",
        )
    for name, is_needed in options.items():
        value = source.options.get(name)
        if value is None:
            if is_needed and not (injected and name == "dsn_env"):
                yield _problem(
                    "MISSING_REQUIRED_OPTION",
                    f"the source `{source.id}` has no `{name}`",
                    f"name {_OPTION_DESCRIPTIONS[name]} in its `options`",
                    path=f"{path}.options.{name}",
                )
        elif wrong := _VALIDATORS[name](value):
            code = "INVALID_ENV_VAR_NAME" if name == "dsn_env" and isinstance(value, str) else "INVALID_OPTION"
            message = f"the `{name}` of the source `{source.id}` {wrong}"
            yield _problem(code, message, "correct it", path=f"{path}.options.{name}")


def _validate_path(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        return "must be a path"
    return "is not a usable path: it holds a null byte" if "\0" in value else ""


def _validate_text(value: Any) -> str:
    usable = isinstance(value, str) and value.strip() and "\0" not in value
    return "" if usable else "must be non-empty text"


def _validate_variable(value: Any) -> str:
    # The value is not repeated in the message: it may be the address itself, with a password.
    return "" if isinstance(value, str) and is_variable(value) else "must be the name of an environment variable"


def _validate_identifier(value: Any) -> str:
    if wrong := _validate_text(value):
        return wrong
    return "" if len(value.encode()) <= _IDENTIFIER_BYTES else f"is longer than {_IDENTIFIER_BYTES} bytes"


def _validate_packages(value: Any) -> str:
    names = cast("list[Any]", value) if isinstance(value, list | tuple) else [None]
    usable = all(isinstance(name, str) and _PACKAGE.fullmatch(name) for name in names)
    return "" if usable else "must be a list of packages, by the names they are imported under"


_VALIDATORS: Mapping[str, Callable[[Any], str]] = {
    "root": _validate_path,
    "namespace": _validate_text,
    "packages": _validate_packages,
    "dsn_env": _validate_variable,
    "key_prefix": _validate_text,
    "schema": _validate_identifier,
    "table": _validate_identifier,
}
"""Each validator returns what is wrong with a value, or an empty text."""


Lookup = Callable[[str], str | None]


class SourceDependencies(msgspec.Struct, frozen=True, kw_only=True):
    """What sources need besides their own settings."""

    workspace_root: Path
    scan: ScanOptions
    rows: Mapping[str, Sequence[Row]] = {}
    """The rows of `in-memory` sources by source id."""
    clients: Mapping[str, Any] = {}
    """Clients, pools or factories by the ids of `redis` and `pgsql` sources."""
    get_variable: Lookup = lambda name: None
    """Looks up an environment variable."""
    scans: Scans | None = None
    """Where scans are cached; `None` means in this process."""
    index: Path | None = None
    """Where the index of scanned files is stored; `None` means nowhere."""


class UnavailableSource:
    """A placeholder for a source without an address: it reports the problem and has no skills."""

    def __init__(self, origin: Origin, problem: Problem) -> None:
        self.origin = origin
        self._problem = msgspec.structs.replace(problem, namespace=origin.namespace)

    def skills(self) -> Report:
        """Return no skills and the problem."""
        return Report((), (self._problem,))

    def body(self, skill: Skill) -> str:
        """Raise an error: this source has no skills."""
        message = f"the text of `{skill.mention.text}` cannot be read: {self._problem.message}"
        raise failure("SKILL_BODY_READ_FAILED", message, hint=self._problem.hint)


def build_source(
    source: "SkillSource", origin: Origin, settings: "SkillsSettings", dependencies: SourceDependencies
) -> Source:
    """Build the source that the settings describe, with their refresh policy."""
    if source.type == "in-memory":
        return MemorySource(origin, dependencies.rows.get(source.id, ()))
    built = _BUILDERS[source.type](source, origin, settings, dependencies)
    if isinstance(built, UnavailableSource):
        return built
    key = (
        source.type,
        repr(sorted(source.options.items())),
        origin,
        str(dependencies.workspace_root),
        dependencies.scan,
    )
    client = dependencies.clients.get(source.id)
    address = hash(dependencies.get_variable(str(source.options.get("dsn_env", "")))) if client is None else id(client)
    return apply_refresh_policy(
        built, (key, address), settings.scan.refresh_policy, settings.scan.ttl_sec, dependencies.scans
    )


def _build_filesystem(
    source: "SkillSource", origin: Origin, settings: "SkillsSettings", dependencies: SourceDependencies
) -> Source:
    del settings
    root = Path(str(source.options["root"]))
    try:
        files = FilesystemSource(origin, dependencies.workspace_root / root.expanduser(), dependencies.scan)
    except (RuntimeError, ValueError) as error:
        raise config_error(
            "SKILL_CONFIG_INVALID_OPTION",
            f"the root of the source `{source.id}` is not a usable path: {error}",
            hint="name a directory",
        ) from error
    if dependencies.index is None:
        return files
    from skills_runtime.skills.sources import IndexedSource

    return IndexedSource(files, dependencies.index)


def _build_packages(
    source: "SkillSource", origin: Origin, settings: "SkillsSettings", dependencies: SourceDependencies
) -> Source:
    from skills_runtime.skills.sources.packages import PackagesSource

    del settings
    packages = [str(name) for name in source.options.get("packages") or ()]
    return PackagesSource(origin, packages, dependencies.scan, workspace_root=dependencies.workspace_root)


def _build_redis(
    source: "SkillSource", origin: Origin, settings: "SkillsSettings", dependencies: SourceDependencies
) -> Source:
    from skills_runtime.skills.sources.redis import RedisSource, connection_to

    connection = _resolve_connection(source, dependencies, connection_to, "pipeline")
    if isinstance(connection, Problem):
        return UnavailableSource(origin, connection)
    connect, dsn = connection
    return RedisSource(
        origin,
        connect,
        key_prefix=str(source.options["key_prefix"]),
        bundles=_build_bundles(settings, dependencies.workspace_root),
        dsn=dsn,
        max_field_bytes=dependencies.scan.max_frontmatter_bytes,
    )


def _build_pgsql(
    source: "SkillSource", origin: Origin, settings: "SkillsSettings", dependencies: SourceDependencies
) -> Source:
    from skills_runtime.skills.sources.pgsql import PgsqlSource, connection_to

    del settings
    connection = _resolve_connection(source, dependencies, connection_to, "cursor")
    if isinstance(connection, Problem):
        return UnavailableSource(origin, connection)
    connect, dsn = connection
    table = (str(source.options["schema"]), str(source.options["table"]))
    return PgsqlSource(origin, connect, table=table, dsn=dsn, max_field_bytes=dependencies.scan.max_frontmatter_bytes)


def _resolve_connection(
    source: "SkillSource",
    dependencies: SourceDependencies,
    connection_to: Callable[[Dsn], Connect],
    required_method: str,
) -> tuple[Connect, Dsn | None] | Problem:
    """Use the client injected for this source, or connect to the address in its variable."""
    client = dependencies.clients.get(source.id)
    if client is not None:
        try:
            return adapt_client(client, required_method), None
        except TypeError as error:
            raise config_error(
                "SKILL_CONFIG_INVALID_OPTION",
                f"the client injected for the source `{source.id}` cannot be used: {error}",
                hint="inject one of these",
            ) from error
    variable = str(source.options["dsn_env"])
    text = dependencies.get_variable(variable)
    if not text:
        return Problem(
            code="SKILL_SCAN_SOURCE_UNAVAILABLE",
            message=f"the source `{source.id}` has no address: the variable `{variable}` is not set",
            hint=f"set `{variable}`",
            locator=f"{source.type}://{source.id}",
        )
    dsn = Dsn(variable, text)
    return connection_to(dsn), dsn


def _build_bundles(settings: "SkillsSettings", workspace_root: Path) -> "Bundles":
    from skills_runtime.skills.sources.bundles import Budget, Bundles

    limits = settings.bundles
    cache = workspace_root / limits.cache_dir
    if not cache.is_relative_to(workspace_root):
        # The user's own choice; links inside a workspace are the project's.
        cache = Path(os.path.realpath(cache))
    return Bundles(
        cache,
        Budget(
            max_bytes=limits.max_bytes,
            extracted=limits.max_extracted_bytes,
            files=limits.max_files,
            single_file=limits.max_single_file_bytes,
        ),
    )


_BUILDERS: Mapping[str, Callable[["SkillSource", Origin, "SkillsSettings", SourceDependencies], Source]] = {
    "filesystem": _build_filesystem,
    "packages": _build_packages,
    "redis": _build_redis,
    "pgsql": _build_pgsql,
}


class InjectedClients(msgspec.Struct, frozen=True, kw_only=True):
    """Clients that a program provides for sources on other machines, and skills besides those of the settings."""

    clients: Mapping[str, Any] = {}
    """By the ids of `redis` and `pgsql` sources: a client, a pool with `.connection()`, or a factory."""
    get_variable: Callable[[str], str | None] | None = None
    """Looks up the variable named by `dsn_env`; `None` means in the environment of the library."""
    scans: Scans | None = None
    """Where scans are cached under the refresh policies `ttl` and `manual`; `None` means in this process."""
    notes: tuple[Problem, ...] = ()
    """Problems to report with the skills."""
    bundled: bool = False
    """Whether to include the bundled skills."""
    untrusted: bool = False
    """Whether to include the skills of an untrusted project, for listing only."""


def load_library(
    resolved: "Resolved", variables: Mapping[str, str] | None = None, *, include_untrusted: bool = False
) -> Library:
    """Build the library of the configured, discovered and bundled skills; `variables` extend the environment.

    With `include_untrusted`, the skills of an untrusted project are included, for listing only.
    """
    process, settings = resolved.environment.process, resolved.settings
    paths = resolve_discovery_paths(resolved.workspace_root, process)
    skills, notes = settings.skills, ()
    project_keys = {"skills.spaces", "skills.sources"} & resolved.by_project
    if project_keys and not include_untrusted and not is_trusted(paths):
        skills, notes = skills.model_copy(update={"spaces": ()}), (build_untrusted_spaces_problem(paths),)
    library = build_library(
        skills,
        resolved.workspace_root,
        environment={**process, **(variables or {})},
        sources_with=InjectedClients(
            get_variable=resolved.environment.get, notes=notes, bundled=True, untrusted=include_untrusted
        ),
        paths=paths,
    )
    catalog, window = settings.skills.catalog, settings.run.context_recovery.window_tokens
    tokens = compute_budget(window, share=catalog.share, max_tokens=catalog.max_tokens)
    render = settings.prompt.skill_injection.render or PROFILES[settings.prompt.profile].render
    library.rules = msgspec.structs.replace(library.rules, catalog_tokens=tokens, whole_texts=render == "body")
    return library


def build_library(
    settings: "SkillsSettings",
    workspace_root: Path,
    *,
    registered: Mapping[str, Sequence[Row]] | None = None,
    environment: Mapping[str, str] | None = None,
    sources_with: InjectedClients | None = None,
    paths: "DiscoveryPaths | None" = None,
) -> Library:
    """Build the library that settings describe; `registered` holds the rows of `in-memory` sources by id.

    With `paths`, skills are also discovered there, and scanned files are indexed.
    """
    injected = sources_with or InjectedClients()
    for problem in preflight(settings, injected=injected.clients.keys()):
        if problem.severity == "error":
            raise config_error(problem.code, problem.message, hint=problem.hint)
    scan = ScanOptions(
        ignore_dot_entries=settings.scan.ignore_dot_entries,
        max_depth=settings.scan.max_depth,
        max_dirs_per_root=settings.scan.max_dirs_per_root,
        max_frontmatter_bytes=settings.scan.max_frontmatter_bytes,
    )
    sources = {source.id: source for source in settings.sources}
    dependencies = SourceDependencies(
        workspace_root=workspace_root,
        scan=scan,
        rows=registered or {},
        clients=injected.clients,
        get_variable=injected.get_variable or (environment or {}).get,
        scans=injected.scans,
        index=paths.index if paths else None,
    )
    discovery = discover(paths, settings) if paths and settings.discovery.enabled else None
    untrusted = build_untrusted_sources(discovery, settings, dependencies.index) if discovery else []
    return Library(
        [
            *(
                build_source(sources[name], Origin(space.id, space.namespace, name), settings, dependencies)
                for space in settings.spaces
                if space.enabled
                for name in dict.fromkeys(space.sources)
            ),
            *(build_trusted_sources(discovery, settings, dependencies.index) if discovery else ()),
            *(untrusted if injected.untrusted else ()),
            *((bundled_source(),) if injected.bundled else ()),
        ],
        rules=Rules(
            env_var_missing_policy=settings.env_var_missing_policy, max_body_bytes=settings.injection.max_bytes
        ),
        environment=environment,
        notes=(*injected.notes, *(discovery.problems if discovery else ())),
        untrusted=() if injected.untrusted else untrusted,
    )
