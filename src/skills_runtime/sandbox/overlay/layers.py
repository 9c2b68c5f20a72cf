"""What can be done with layers: lay one, look at it, commit it, discard it; one at a time for each layer."""

import fcntl
import os
import re
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import msgspec

from skills_runtime.diffs import unified
from skills_runtime.errors import NotFound, SandboxError, ValidationFailed
from skills_runtime.sandbox.overlay.committing import apply
from skills_runtime.sandbox.overlay.comparing import difference, manifest_of, mode_of, read_layer
from skills_runtime.sandbox.overlay.laying import drop, lay
from skills_runtime.sandbox.overlay.mounting import read_mounted
from skills_runtime.sandbox.overlay.trees import DIRECTORY, FILE, accessible, opened, parent_of
from skills_runtime.sandbox.overlay.values import Change, Difference, Layer, layers_of

MAX_SHOWN = 1 << 20
"""Bytes of a file that are compared line by line."""
_NAME = re.compile(r"[0-9a-f]{12}")


def new_layer(workspace: Path, *, hidden: Iterable[Path] = (), bubblewrap: str | None = None) -> Layer:
    """Lay a new layer over a workspace: by the kernel, if this bubblewrap can have it do so, else as a copy."""
    return lay(Path(os.path.realpath(workspace)), hidden=hidden, bubblewrap=bubblewrap)


def find_layer(workspace: Path, name: str) -> Layer:
    """The layer of this name; raises when there is none, or when somebody else has made it."""
    if not _NAME.fullmatch(name):
        raise ValidationFailed(f"`{name!a}` is not the name of a layer", hint="`sandbox exec --overlay` tells it")
    layer = Layer(name=name, workspace=Path(os.path.realpath(workspace)))
    for path in (layers_of(layer.workspace).parent, layers_of(layer.workspace), layer.home):
        try:
            found = path.lstat()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFound(
                f"there is no layer `{name}` over `{layer.workspace}`", hint="name the workspace by `--workspace`"
            ) from error
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), layer.workspace.stat().st_uid):
            raise SandboxError(f"`{path}` is not a directory of this user", hint="remove it")
    return msgspec.structs.replace(layer, mode=mode_of(layer))


def layers_over(workspace: Path) -> tuple[Layer, ...]:
    """The layers there are over a workspace."""
    real = Path(os.path.realpath(workspace))
    try:
        names = sorted(entry.name for entry in layers_of(real).iterdir() if _NAME.fullmatch(entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(find_layer(real, name) for name in names)


@contextmanager
def holding(layer: Layer) -> Generator[None]:
    """Keep others from the layer; raises when somebody has it."""
    with opened(str(layer.home), DIRECTORY) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SandboxError(f"the layer `{layer.name}` is in use", hint="wait until that has ended") from error
        yield


def difference_of(layer: Layer) -> Difference:
    """What changed in the layer since it was laid."""
    manifest = manifest_of(layer)
    if manifest.mode == "mount":
        return difference(*read_mounted(layer, manifest), unchanged=manifest.stamps)
    return difference(manifest.base, read_layer(layer, manifest))


def commit_layer(layer: Layer, *, force: bool = False) -> Difference:
    """Put what changed into the workspace; the layer is gone afterwards, unless something was withheld.

    Raises before anything is written when the workspace has changed in the same places, unless forced. What a crash
    interrupts can be done again.
    """
    with holding(layer):
        done = difference_of(layer)
        apply(layer, done.changes, force=force)
        if not done.withheld:
            drop(layer)
    return done


def discard_layer(layer: Layer) -> None:
    """Remove the layer and everything in it; the workspace stays as it is."""
    with holding(layer):
        drop(layer)


def text_of(layer: Layer, change: Change) -> str:
    """One change as people read it: the lines that differ, or a sentence where there are none to show."""
    with opened(str(layer.workspace), DIRECTORY) as workspace, opened(str(layer.tree), DIRECTORY) as tree:
        before = _lines(workspace, change.path) if change.before and change.before.kind == "file" else []
        after = _lines(tree, change.path) if change.after and change.after.kind == "file" else []
    if before is None or after is None:
        return f"{change.path}: not shown, for it is no text or too long\n"
    old, new = (
        f"{side}/{change.path}" if one else "/dev/null" for side, one in (("a", change.before), ("b", change.after))
    )
    lines = unified(before, after, (old, new))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)


def _lines(root: int, path: str) -> list[str] | None:
    try:
        with parent_of(root, path) as (directory, name):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_SHOWN:
                return None
            with accessible(directory, name, found), opened(name, FILE, directory) as descriptor:
                return os.read(descriptor, MAX_SHOWN).decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
    except OSError:  # gone or changed meanwhile
        return []
