"""Skills that come with installed Python packages, each under the namespace of its package.

Python's search path hardly ever changes, so it is only searched again once one of its directories has.
"""

import os
from functools import lru_cache
from pathlib import Path

from skills_runtime.skills.discovery.names import segment
from skills_runtime.skills.discovery.roots import PACKAGE_LEVEL, Root
from skills_runtime.skills.sources.packages import installed_path, package_roots


def roots_of_packages(workspace: Path) -> tuple[Root, ...]:
    """The directories of skills in every package that Python can import from outside the workspace."""
    return _found(tuple((path, _changed_ns(path)) for path in installed_path(workspace_root=workspace)))


@lru_cache(maxsize=4)
def _found(paths: tuple[tuple[str, int], ...]) -> tuple[Root, ...]:
    found = package_roots((), [path for path, _ in paths])
    return tuple(_root(segment(name), str(path)) for name, several in found.items() for path in several)


def _changed_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - done for every run
    except OSError:
        return 0


def _root(name: str, path: str) -> Root:
    namespace = f"package:{name}"
    return Root(path=path, scope="system", namespace=namespace, level=PACKAGE_LEVEL, label=f"{namespace}:{path}")
