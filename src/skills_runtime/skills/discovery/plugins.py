"""Skills of plugins, which can be called with the plugin's name, and of installed Python packages."""

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec

from skills_runtime.skills.discovery.roots import PACKAGE_LEVEL, Root, Scope, segment
from skills_runtime.skills.library import PLUGIN_LEVEL
from skills_runtime.skills.problems import Problem
from skills_runtime.skills.sources.packages import find_installed_paths, package_roots
from skills_runtime.storage import error_reason, open_directory, read_below, relative_parts
from skills_runtime.text import one_line

MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", ".cursor-plugin/plugin.json")
MARKETPLACE = ".claude-plugin/marketplace.json"
MAX_BYTES = 1 << 20
MAX_PLUGINS = 256
_SKILLS = "skills"


def find_plugins(directory: str, scope: Scope) -> Iterator[Root | Problem]:
    """Yield the skill directories of every plugin in a directory."""
    try:
        names = sorted(os.listdir(directory))  # noqa: PTH208 - asked for every run, and mostly there is none
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield _invalid(directory, f"the directory of plugins cannot be read: {error_reason(error)}")
        return
    for name in names[:MAX_PLUGINS]:
        yield from read_plugin(f"{directory}/{name}", scope)


def read_plugin(directory: str, scope: Scope) -> Iterator[Root | Problem]:
    """Yield the skill directories of the plugin or marketplace in a directory."""
    # Most directories are not plugins, and this check is the cheapest.
    manifest = next((name for name in (*MANIFESTS, MARKETPLACE) if os.access(f"{directory}/{name}", os.F_OK)), None)
    if manifest is None:
        return
    try:
        path = Path(os.path.realpath(directory))
        with open_directory(path) as top:
            data = msgspec.json.decode(read_below(top, manifest.split("/"), limit=MAX_BYTES))
    except OSError as error:
        yield _invalid(directory, f"its manifest cannot be read: {error_reason(error)}")
        return
    except (ValueError, RecursionError) as error:
        yield _invalid(directory, f"its manifest is not JSON: {error}")
        return
    entries: list[Any] = [data]
    if manifest == MARKETPLACE:
        plugins: Any = cast("dict[str, Any]", data).get("plugins") if isinstance(data, dict) else None
        entries = cast("list[Any]", plugins)[:MAX_PLUGINS] if isinstance(plugins, list) else [None]
    for entry in entries:
        yield from _plugin(path, entry, scope)


def find_duplicate_names(roots: Iterable[Root]) -> Iterator[Problem]:
    """Report plugins of the project and the user that share a name and therefore a namespace."""
    paths: dict[str, dict[Scope, str]] = {}
    for root in roots:
        if root.level == PLUGIN_LEVEL:
            paths.setdefault(root.namespace, {}).setdefault(root.scope, root.path)
    for namespace, by_scope in sorted(paths.items()):
        if len(by_scope) > 1:
            name = namespace.removeprefix("plugin:")
            locations = ", ".join(f"`{one_line(path)}`" for path in by_scope.values())
            yield Problem(
                code="SKILL_NAME_AMBIGUOUS",
                message=f"`{name}` is the name of {len(by_scope)} plugins, which share one namespace: {locations}",
                hint="rename one of them in its manifest, or remove it",
                severity="warning",
                namespace=namespace,
                details={"locators": list(by_scope.values())},
            )


def _plugin(base: Path, data: Any, scope: Scope) -> Iterator[Root | Problem]:
    fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        yield _invalid(str(base), "its manifest gives it no name")
        return
    source: Any = fields.get("source", ".")
    if not isinstance(source, str) or "://" in source:
        return  # a plugin from a remote source is not on this machine
    value: Any = fields.get("skills", _SKILLS)
    paths = cast("list[Any]", value) if isinstance(value, list) else [value]
    for path in paths:
        inner = _join_relative(source, path)
        if inner is None:
            yield _invalid(str(base), f"its manifest names {str(path)[:80]!a}, which is not inside of it", name=name)
            continue
        full_path = "/".join((str(base), *inner))
        if os.path.lexists(full_path):
            namespace = f"plugin:{segment(name)}"
            label = f"{namespace}:{full_path}"
            yield Root(path=full_path, scope=scope, namespace=namespace, level=PLUGIN_LEVEL, label=label)


def _join_relative(*paths: Any) -> tuple[str, ...] | None:
    """Join relative paths into their names, or return nothing if they lead outside."""
    inner: tuple[str, ...] = ()
    for path in paths:
        if not isinstance(path, str):
            return None
        plain = "/".join(part for part in path.split("/") if part != ".").rstrip("/")
        parts = relative_parts(plain) if plain else ()
        if parts is None or path.startswith("/"):
            return None
        inner += parts
    return inner


def _invalid(directory: str, reason: str, *, name: str = "") -> Problem:
    display_name = one_line(name or os.path.basename(directory))  # noqa: PTH119 - a path as the system gave it
    return Problem(
        code="SKILL_PLUGIN_INVALID",
        message=f"the plugin `{display_name}` cannot be used: {reason}",
        hint="correct `.claude-plugin/plugin.json` in it",
        severity="warning",
        locator=one_line(directory),
        name=display_name,
    )


def find_package_roots(workspace: Path) -> tuple[Root, ...]:
    """Return the skill directories of every Python package that is importable from outside the workspace."""
    stamps: list[tuple[str, int]] = []
    for path in find_installed_paths(workspace_root=workspace):
        try:
            stamps.append((path, os.stat(path).st_mtime_ns))  # noqa: PTH116 - done for every run
        except OSError:
            stamps.append((path, 0))
    return _package_roots(tuple(stamps))


@lru_cache(maxsize=4)
def _package_roots(paths: tuple[tuple[str, int], ...]) -> tuple[Root, ...]:
    """Return the skill directories for these paths and modification times; cached, because reading metadata is slow."""
    return tuple(
        Root(
            path=str(path),
            scope="system",
            namespace=f"package:{segment(name)}",
            level=PACKAGE_LEVEL,
            label=f"package:{segment(name)}:{path}",
        )
        for name, several in package_roots((), [path for path, _ in paths]).items()
        for path in several
    )
