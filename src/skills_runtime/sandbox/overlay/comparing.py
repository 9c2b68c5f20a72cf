"""What changed in a layer since it was laid, and which of it is never put into a workspace.

`difference` is pure; `read_layer` looks at the tree.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import PurePosixPath

import msgspec

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.sandbox.overlay.manifests import decoded
from skills_runtime.sandbox.overlay.trees import entry_of, only_keeps_a_name, stamp_of, walk
from skills_runtime.sandbox.overlay.values import Change, Difference, Entry, Layer, Manifest, Mode
from skills_runtime.sandbox.protected import CREDENTIALS, READ_ONLY, RUNTIME_DIRECTORY, SECRETS

_BARE = ("HEAD", "objects", "refs")
_OBEYED = ("config", "config.worktree", "hooks", "commondir")


def manifest_of(layer: Layer) -> Manifest:
    """What the workspace was; raises when the layer is gone or is none."""
    try:
        manifest = decoded(layer.manifest.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(
            f"there is no layer `{layer.name}` over `{layer.workspace}`", hint="`sandbox exec --overlay` makes one"
        ) from error
    except msgspec.MsgspecError as error:
        raise ValidationFailed(f"the layer `{layer.name}` is damaged: {error}", hint="discard it") from error
    if manifest.version != 1 or not all(map(_is_plain, (*manifest.base, *manifest.stamps, *manifest.left_out))):
        raise ValidationFailed(f"the layer `{layer.name}` cannot be read by this version", hint="discard it")
    return manifest


def mode_of(layer: Layer) -> Mode:
    """How the layer lies over the workspace; a damaged one can only be discarded, for which that is no matter."""
    try:
        return manifest_of(layer).mode
    except ValidationFailed:
        return "copy"


def read_layer(layer: Layer, manifest: Manifest) -> dict[str, Entry]:
    """Everything that is in the layer now, save what was never copied; files that nobody touched are not read."""
    found: dict[str, Entry] = {}
    left_out = frozenset(manifest.left_out)

    def visit(directory: int, name: str, path: str, seen: os.stat_result) -> bool:
        known = manifest.base.get(path)
        if path in left_out or (known is None and only_keeps_a_name(directory, name, seen)):
            return False
        same = stat.S_ISREG(seen.st_mode) and manifest.stamps.get(path) == stamp_of(seen)
        if same and known is not None:
            found[path] = known
        else:
            found[path] = entry_of(directory, name, seen)
        return True

    walk(str(layer.tree), visit, ours=True)
    return found


def difference(base: dict[str, Entry], now: dict[str, Entry], unchanged: Iterable[str] = ()) -> Difference:
    """What a commit would do, in the order of paths; `unchanged` are paths of which neither side says anything."""
    changes: list[Change] = []
    withheld: list[Change] = []
    repositories = _repositories({*unchanged, *base, *now} - (base.keys() - now.keys()))
    for path in sorted({*base, *now}):
        before, after = base.get(path), now.get(path)
        if before == after:
            continue
        kind = "added" if before is None else "removed" if after is None else "changed"
        change = Change(path=path, kind=kind, before=before, after=after)
        kept_back = is_withheld(change) or any(path == part or path.startswith(f"{part}/") for part in repositories)
        (withheld if kept_back else changes).append(change)
    return Difference(changes=tuple(changes), withheld=tuple(withheld))


def is_withheld(change: Change) -> bool:
    """Whether it would change what nothing in a sandbox may, or is something that is no file."""
    parts = PurePosixPath(change.path).parts
    if not READ_ONLY.isdisjoint(parts) or RUNTIME_DIRECTORY in parts or parts[0] in CREDENTIALS:
        return True
    if parts[-1].startswith(SECRETS) and not all(one.is_directory for one in (change.before, change.after) if one):
        return True
    return any(one is not None and one.kind == "other" for one in (change.before, change.after))


def _repositories(paths: set[str]) -> tuple[str, ...]:
    """What git obeys in directories that are repositories without a work tree, even if no name in them says so."""
    above = [path.removesuffix(_BARE[0]) for path in paths if path == _BARE[0] or path.endswith(f"/{_BARE[0]}")]
    found = [prefix for prefix in above if all(f"{prefix}{name}" in paths for name in _BARE)]
    return tuple(f"{prefix}{name}" for prefix in sorted(found) for name in (*_BARE, *_OBEYED))


def _is_plain(path: str) -> bool:
    """Whether it is a path within a tree, and can be no other."""
    return bool(path) and "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))
