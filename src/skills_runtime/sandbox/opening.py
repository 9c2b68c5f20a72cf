"""What has to be protected for a policy: in its workspace and in what somebody opened besides."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.promises import Gap, Promise
from skills_runtime.sandbox.survey import MAX_DIRECTORIES, MAX_NESTED, MAX_SECONDS, Findings, survey


def findings_for(policy: SandboxPolicy) -> Findings:
    """Everything to protect now; raises `SandboxError` for an opened path that leads elsewhere than it did."""
    found = survey(policy.workspace)
    if not policy.opened:
        return found
    if policy.access == "read":  # nothing can be written there, so there is nothing to hold on to
        missing = found.placeholder_directories
        hidden = tuple(path for path in found.hidden_directories if path not in missing)
        found = Findings(hidden_files=found.hidden_files, hidden_directories=hidden, **_seen(found))
    return _joined((found, *(_of_opened(path, policy) for path in policy.opened)))


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
    return Findings(hidden_files=found.hidden_files, hidden_directories=hidden, **_seen(found))


def _seen(found: Findings) -> dict[str, Any]:
    """How far the survey got."""
    return {"unseen": found.unseen, "complete": found.complete}


def _joined(parts: Iterable[Findings]) -> Findings:
    every = tuple(parts)
    names = [name for name in Findings.__struct_fields__ if name not in ("complete", "kept_free")]
    joined = {name: tuple(dict.fromkeys(path for part in every for path in getattr(part, name))) for name in names}
    complete, kept_free = (all(getattr(part, name) for part in every) for name in ("complete", "kept_free"))
    return Findings(**joined, complete=complete, kept_free=kept_free)


def survey_gaps(policy: SandboxPolicy, findings: Findings) -> tuple[Gap, ...]:
    """What cannot be promised because the survey did not get through, or found too much to hold on to."""
    gaps: list[Gap] = []
    if not findings.complete:
        where = f" from `{findings.unseen[0]}` on" if findings.unseen else ""
        most = f"{MAX_DIRECTORIES:,} directories or {MAX_SECONDS:.0f} s are the most"
        text = f"the workspace was not looked through{where}, for {most}"
        fix = (
            "name a smaller directory as the workspace, or remove what nobody needs; after a first look that took too "
            "long, try again, for what was seen is remembered; `sandbox exec --accept-gap` does without the promise"
        )
        promises: tuple[Promise, ...] = ("secrets",)
        if policy.access == "write" or policy.opened:
            promises = ("protected_paths", "secrets")
        gaps += [Gap(promise=promise, text=text, fix=fix) for promise in promises]
    if not findings.kept_free:
        text = f"configuration of agents and editors can be made in more than {MAX_NESTED} repositories"
        gaps.append(Gap(promise="protected_paths", text=text, partial=True))
    return tuple(gaps)
