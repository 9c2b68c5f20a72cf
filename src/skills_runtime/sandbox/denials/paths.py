"""Decides about a complaint over a path: whether the fence closes that place, and the least that would open it."""

import os
from pathlib import Path

import msgspec

from skills_runtime.sandbox.denials.complaints import Complaint
from skills_runtime.sandbox.denials.forbidden import IS_OWN, IS_SECRET, why_not_path
from skills_runtime.sandbox.denials.values import Denial, Grant, Surroundings
from skills_runtime.sandbox.denials.zones import Zone, is_shown, place_of, zone_of
from skills_runtime.sandbox.policy import SandboxPolicy
from skills_runtime.sandbox.survey import Findings

_CLOSED: dict[Zone, str] = {
    "protected": "programs outside the sandbox obey it, so nothing in the sandbox may change it",
    "secret": "secrets are kept there, which nothing in the sandbox may read or change",
    "own": IS_OWN,
    "kernel": "it belongs to the kernel",
}
"""Why no grant opens a zone."""


class PathJudge(msgspec.Struct, frozen=True):
    """What has to be known to judge."""

    policy: SandboxPolicy
    findings: Findings
    surroundings: Surroundings
    control: tuple[Path, ...] = ()
    programs: tuple[Path, ...] = ()

    def judged(self, complaint: Complaint, cwd: Path) -> Denial | None:
        """The denial that the complaint is about; nothing when the fence does not close any of its paths."""
        if complaint.cause == "full":
            return None
        for text in complaint.paths:
            path = place_of(text, cwd)
            if path is not None and (denial := self._judged_path(complaint, path)) is not None:
                return denial
        if complaint.cause == "read_only" and not complaint.paths:
            sentence = "The command seems to have tried to write to a place that the sandbox makes read-only."
            return Denial(certainty="suspected", what="write", target="", grant=None, sentence=sentence)
        return None

    def missing_program(self, name: str) -> Denial | None:
        """A program that the user has and the sandbox does not show."""
        place = self.surroundings.program(name)
        if place is None or zone_of(place, self.policy, self.findings) != "outside":
            return None
        grant = self._grant(place.parent, writing=False)
        sentence = f"The program `{name}` lies at `{place}`, which a command in the sandbox does not see."
        if grant is not None:
            sentence += " With a grant to read it, call it by its whole path."
        return Denial(certainty="suspected", what="program", target=name, grant=grant, sentence=sentence)

    def _judged_path(self, complaint: Complaint, path: Path) -> Denial | None:
        zone = zone_of(path, self.policy, self.findings)
        if complaint.cause == "exists":
            return self._closed(path, "protected", writing=True) if path in self.findings.placeholders else None
        writing = complaint.cause in ("read_only", "busy") or complaint.writing
        if complaint.cause == "missing":
            return self._missing(path, zone, writing=writing)
        if zone in ("protected", "secret", "own"):
            writing = writing and zone != "secret"
            return self._closed(path, zone, writing=writing)
        if complaint.cause == "busy" or (complaint.cause == "forbidden" and zone != "outside"):
            return None
        match zone:
            case "workspace":
                refused = complaint.cause == "read_only" and self.policy.access == "read"
                return self._open(path, writing=True) if refused else None
            case "kernel":
                return self._closed(path, zone, writing=True) if complaint.cause == "read_only" else None
            case "system" | "readable":
                return self._open(path, writing=True) if complaint.cause == "read_only" else None
            case "outside":
                return self._open(path, writing=writing)
            case "open" | "temporary":
                return None

    def _missing(self, path: Path, zone: Zone, *, writing: bool) -> Denial | None:
        """Behind the fence what is not shown is not there; only what is there outside can have been meant."""
        if zone in ("secret", "own"):
            return self._closed(path, zone, writing=False) if self.surroundings.exists(path) else None
        if zone not in ("outside", "temporary", "system") or is_shown(path):
            return None
        if why_not_path(str(path), writing=False, control=self.control) in (IS_SECRET, IS_OWN):
            return None
        if self.surroundings.exists(path):
            return self._open(path, writing=writing)
        above = path.parent
        outside = zone_of(above, self.policy, self.findings) == "outside" and len(above.parts) > 1
        if writing and outside and self.surroundings.exists(above):
            return self._open(path, writing=True)
        return None

    def _open(self, path: Path, *, writing: bool) -> Denial | None:
        place = self._nearest(path) if writing else path
        grant = None if place is None else self._grant(place, writing=writing)
        done = "write to" if writing else "read"
        sentence = f"The command seems not to have been let {done} `{path}`, which is outside what the sandbox opens."
        if grant is None:
            reason = self._why_not(str(place or path), writing=writing)
            sentence += f" No grant opens it, for {reason or 'nothing of that name is there'}."
        return Denial(
            certainty="suspected", what="write" if writing else "read", target=str(path), grant=grant,
            sentence=sentence,
        )  # fmt: skip

    def _closed(self, path: Path, zone: Zone, *, writing: bool) -> Denial:
        done = "change" if writing else "read"
        sentence = f"The command seems not to have been let {done} `{path}`: {_CLOSED[zone]}. No grant opens it."
        return Denial(
            certainty="suspected", what="write" if writing else "read", target=str(path), grant=None, sentence=sentence
        )

    def _nearest(self, path: Path) -> Path | None:
        """The file itself where it is there, else the directory in which it would be made."""
        return next((place for place in (path, *path.parents) if self.surroundings.exists(place)), None)

    def _grant(self, place: Path, *, writing: bool) -> Grant | None:
        text = os.path.normpath(place)
        if self._why_not(text, writing=writing) is not None:
            return None
        return Grant(writable=(text,)) if writing else Grant(readable=(text,))

    def _why_not(self, text: str, *, writing: bool) -> str | None:
        workspace = self.policy.workspace
        programs = [place for place in self.programs if not place.is_relative_to(workspace)]
        control = (*self.control, *self.policy.hidden)
        return why_not_path(text, writing=writing, control=control, within=workspace, programs=programs)
