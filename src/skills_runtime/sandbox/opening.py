"""What has to be protected for a policy: in its workspace or the layer over it, and in what somebody opened besides."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.survey import Findings, survey


def findings_for(policy: SandboxPolicy) -> Findings:
    """Everything to protect now; raises `SandboxError` for an opened path that leads elsewhere than it did."""
    if policy.layer is not None and policy.layer_work is not None:
        found = _under_layer(survey(policy.workspace), policy.workspace, policy.layer)
    else:
        found = survey(policy.layer or policy.workspace)
    if not policy.opened:
        return found
    if policy.access == "read":  # nothing can be written there, so there is nothing to hold on to
        found = msgspec.structs.replace(found, read_only=(), placeholders=(), pinned=())
    return _joined((found, *(_of_opened(path, policy) for path in policy.opened)))


def shown_at(path: Path, policy: SandboxPolicy) -> Path:
    """Where the command sees something that was found in the layer."""
    if policy.layer is None or not path.is_relative_to(policy.layer):
        return path
    return policy.workspace / path.relative_to(policy.layer)


def _under_layer(found: Findings, workspace: Path, layer: Path) -> Findings:
    """What still shows through a layer that holds only what differs; nothing is committed over it, so nothing is held.

    Where the layer has anything but a directory on the way, a mount would follow whatever somebody has put there.
    """

    def shows(path: Path) -> bool:
        parts = path.relative_to(workspace).parts
        places = [layer.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
        return all(place.is_dir() and not place.is_symlink() for place in places if os.path.lexists(place))

    missing = found.placeholder_directories
    return Findings(
        read_only=tuple(path for path in found.read_only if shows(path.parent) and not _is_in(path, layer, workspace)),
        hidden_files=tuple(filter(shows, found.hidden_files)),
        hidden_directories=tuple(path for path in found.hidden_directories if shows(path) and path not in missing),
        links=found.links,
        complete=found.complete,
    )


def _is_in(path: Path, layer: Path, workspace: Path) -> bool:
    return os.path.lexists(layer / path.relative_to(workspace))


def _of_opened(path: Path, policy: SandboxPolicy) -> Findings:
    if os.path.realpath(path) != str(path):
        raise SandboxError(
            f"`{path}` has become a link since it was opened to commands", hint="ask for a new grant by its real path"
        )
    if not path.exists():
        raise SandboxError(f"`{path}` was opened to commands and is gone", hint="make it again, or drop the grant")
    found = survey(path)
    if path in policy.writable:
        return found
    missing = found.placeholder_directories
    hidden = tuple(one for one in found.hidden_directories if one not in missing)
    return Findings(hidden_files=found.hidden_files, hidden_directories=hidden, complete=found.complete)


def _joined(parts: Iterable[Findings]) -> Findings:
    every = tuple(parts)
    names = [name for name in Findings.__struct_fields__ if name != "complete"]
    joined = {name: tuple(dict.fromkeys(path for part in every for path in getattr(part, name))) for name in names}
    return Findings(**joined, complete=all(part.complete for part in every))
