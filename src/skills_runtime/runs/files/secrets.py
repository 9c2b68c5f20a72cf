"""Detect hard links to files that hold secrets, which tools may not read either."""

import os
import time

from skills_runtime.errors import PolicyDenied
from skills_runtime.runs.files.paths import PathPolicy, escape_path, is_secret_name

MAX_DIRECTORIES = 100_000
UNSETTLED_NS = 20_000_000
"""A file changed this shortly before a search may get a link within the same tick of the file system clock."""

Identity = tuple[int, int]
"""Device and inode number of a file."""

_cache: dict[str, tuple[int, frozenset[Identity] | None]] = {}
"""Per directory: the time of the search and the secrets in it; None when there are too many directories."""


def check_not_secret(fd: int, policy: PathPolicy, path: str) -> None:
    """Raise if an open file is a hard link to a secret file below the base of the policy."""
    status = os.fstat(fd)
    if status.st_nlink < 2:
        return
    secrets = _find_secrets(str(policy.base), changed_ns=status.st_ctime_ns)
    if secrets is None:
        raise PolicyDenied(
            f"`{escape_path(path)}` has another name (a hard link), and the workspace is too large to check it",
            hint="copy the file instead of linking it",
        )
    if (status.st_dev, status.st_ino) in secrets:
        raise PolicyDenied(
            f"`{escape_path(path)}` is another name of a file that holds secrets and is not read by tools",
            hint="read `.env.example`, or ask the user for what you need",
        )


def _find_secrets(base: str, *, changed_ns: int) -> frozenset[Identity] | None:
    """Return the secrets below a directory; search again if the file changed since, as a new link would do."""
    cached = _cache.get(base)
    if cached is None or changed_ns + UNSETTLED_NS >= cached[0]:
        cached = _cache[base] = time.clock_gettime_ns(time.CLOCK_REALTIME), _scan_secrets(base)
    return cached[1]


def _scan_secrets(base: str) -> frozenset[Identity] | None:
    secrets: set[Identity] = set()
    directories = [base]
    for count, directory in enumerate(directories):  # grows during the loop
        if count >= MAX_DIRECTORIES:
            return None
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(entry.path)
                    elif is_secret_name(entry.name):
                        status = entry.stat(follow_symlinks=False)
                        secrets.add((status.st_dev, status.st_ino))
        except OSError:  # removed or unreadable: it cannot be the source of a readable link
            continue
    return frozenset(secrets)
