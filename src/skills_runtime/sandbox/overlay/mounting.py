"""A layer that holds only what differs: the kernel lays it over the workspace, where bubblewrap can ask for that.

What is deleted is a mark in the layer, and a directory that was made anew says that nothing of the old one shows.
"""

import os
import stat
import subprocess  # noqa: TID251 - a probe runs a program
from pathlib import Path

from skills_runtime.sandbox.overlay.trees import DIRECTORY, entry_at, entry_of, opened, stamp_of, walk
from skills_runtime.sandbox.overlay.values import Entry, Layer, Manifest, Stamp
from skills_runtime.sandbox.protected import RUNTIME_DIRECTORY

OPAQUE = "user.overlay.opaque"
TIMEOUT_SECONDS = 10.0
MOVED_ON = Entry("file", 0, "changed meanwhile")
"""Stands for what is not known any more, and is equal to nothing that can be found."""


def can_mount(program: str, layer: Layer) -> bool:
    """Whether this program can lay the layer over the workspace, found out by doing it once."""
    owner = layer.workspace.stat().st_uid
    if owner != os.geteuid():  # commands run as the owner, who may be able to do less
        return False
    roots = [word for root in ("/usr", "/lib", "/lib64", "/bin") for word in ("--ro-bind-try", root, root)]
    over = ("--overlay-src", str(layer.workspace), "--overlay", str(layer.tree), str(layer.work), "/tmp")
    command = [program, "--unshare-user", *roots, *over, "--", "/usr/bin/true"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
            env={},
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def remembered(workspace: Path) -> dict[str, Stamp]:
    """What is in the workspace now, by what changes when somebody changes it."""
    stamps: dict[str, Stamp] = {}

    def visit(directory: int, name: str, path: str, found: os.stat_result) -> bool:
        del directory, name
        if path == RUNTIME_DIRECTORY:
            return False
        stamps[path] = _stamp(found)
        return os.access(workspace / path, os.R_OK | os.X_OK)

    walk(str(workspace), visit, ours=False)
    return stamps


def read_mounted(layer: Layer, manifest: Manifest) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """What the workspace was and what it would be, as far as they differ."""
    before: dict[str, Entry] = {}
    after: dict[str, Entry] = {}
    with opened(str(layer.workspace), DIRECTORY) as workspace:

        def visit(directory: int, name: str, path: str, found: os.stat_result) -> bool:
            if path == RUNTIME_DIRECTORY:
                return False
            if is_whiteout(found):
                before.update(_known_below(workspace, path, manifest))
                return False
            after[path] = entry_of(directory, name, found)
            if not stat.S_ISDIR(found.st_mode) or _is_opaque(directory, name):
                before.update(_known_below(workspace, path, manifest))
            elif (known := _known(workspace, path, manifest)) is not None:
                before[path] = known
            return True

        walk(str(layer.tree), visit, ours=True)
    # What is as it was before an earlier try to commit is settled.
    same = {path for path, entry in after.items() if before.get(path) == MOVED_ON and _now(layer, path) == entry}
    return {**before, **{path: after[path] for path in same}}, after


def is_whiteout(found: os.stat_result) -> bool:
    """Whether it marks that something of the workspace is deleted."""
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def _is_opaque(directory: int, name: str) -> bool:
    with opened(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, directory) as descriptor:
        try:
            return os.getxattr(descriptor, OPAQUE) == b"y"
        except OSError:
            return False


def _now(layer: Layer, path: str) -> Entry | None:
    with opened(str(layer.workspace), DIRECTORY) as workspace:
        return entry_at(workspace, path)


def _known(workspace: int, path: str, manifest: Manifest) -> Entry | None:
    """What is at a path of the workspace, if it is what it was; nothing where nothing was."""
    if path not in manifest.stamps:
        return None
    try:
        found = os.stat(path, dir_fd=workspace, follow_symlinks=False)
    except OSError:
        return MOVED_ON
    same = manifest.stamps[path] == _stamp(found)
    return (entry_at(workspace, path) or MOVED_ON) if same else MOVED_ON


def _known_below(workspace: int, path: str, manifest: Manifest) -> dict[str, Entry]:
    """The same for a path and everything that was below it, save what is gone already."""
    found: dict[str, Entry] = {}
    for one in (path, *(known for known in manifest.stamps if known.startswith(f"{path}/"))):
        entry = _known(workspace, one, manifest)
        if entry is not None and not (entry == MOVED_ON and one != path and entry_at(workspace, one) is None):
            found[one] = entry
    if found.get(path) == MOVED_ON and entry_at(workspace, path) is None:
        del found[path]
    return found


def _stamp(found: os.stat_result) -> Stamp:
    """Of a directory only that it is the same one: its times change with what is in it."""
    return Stamp(found.st_ino, found.st_mode, 0) if stat.S_ISDIR(found.st_mode) else stamp_of(found)
