"""Refresh policies of sources: search for every library, after a time to live, or on request.

Results are cached in memory and shared by the libraries of a process; each library sees one result until its next
check. If a search fails, the previous result is returned with a warning.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Literal

import msgspec

from skills_runtime.clock import SystemClock
from skills_runtime.skills.skill import Skill
from skills_runtime.skills.sources.source import Origin, Report, Source

Policy = Literal["always", "ttl", "manual"]
MAX_SCANS = 64
"""Maximum number of cached searches; the least recently used is dropped first."""


class _CachedScan(msgspec.Struct, frozen=True):
    report: Report
    taken_at: float
    is_current: bool = True


class Scans:
    """Cache of searches of a process."""

    def __init__(self, now: Callable[[], float] | None = None) -> None:
        self.now = now or SystemClock().monotonic
        self._by_key: OrderedDict[Hashable, _CachedScan] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> _CachedScan | None:
        """Return the last successful search of a source, or None."""
        with self._lock:
            if key in self._by_key:
                self._by_key.move_to_end(key)
            return self._by_key.get(key)

    def put(self, key: Hashable, report: Report) -> None:
        """Cache a successful search."""
        with self._lock:
            self._by_key[key] = _CachedScan(report, self.now())
            self._by_key.move_to_end(key)
            if len(self._by_key) > MAX_SCANS:
                self._by_key.popitem(last=False)

    def refresh(self) -> None:
        """Make every source search again on its next use, regardless of its policy."""
        with self._lock:
            for key, scan in self._by_key.items():
                self._by_key[key] = msgspec.structs.replace(scan, is_current=False)


SCANS = Scans()
"""The cache of this process."""


class RefreshingSource:
    """A source with cached searches."""

    def __init__(self, source: Source, key: Hashable, policy: Policy, ttl_sec: float, scans: Scans) -> None:
        self._source = source
        self._key = key
        self._ttl_sec = None if policy == "manual" else ttl_sec
        self._scans = scans
        self._last_report: Report | None = None
        """The report returned last."""

    @property
    def origin(self) -> Origin:
        """The origin of its skills."""
        return self._source.origin

    def skills(self) -> Report:
        """Return the cached report while it is valid, else search again."""
        cached = self._scans.get(self._key)
        if cached is not None and self._is_fresh(cached):
            self._last_report = cached.report
            return cached.report
        report = self._source.skills()
        faults = [problem for problem in report.problems if problem.code == "SKILL_SCAN_SOURCE_UNAVAILABLE"]
        if report.skills or not faults:
            self._scans.put(self._key, report)
        elif cached is not None:
            self._last_report = cached.report
            notice = msgspec.structs.replace(
                faults[0],
                code="SKILL_SCAN_REFRESH_FAILED",
                message=f"skills are those of an earlier search, for a new one failed: {faults[0].message}",
                severity="warning",
            )
            return Report(cached.report.skills, (*cached.report.problems, notice))
        self._last_report = report
        return report

    def has_changed(self) -> bool:
        """Return whether the policy requires a new search, or another library has made one."""
        cached = self._scans.get(self._key)
        return cached is not None and (cached.report is not self._last_report or not self._is_fresh(cached))

    def body(self, skill: Skill) -> str:
        """Read the current Markdown body of a skill."""
        return self._source.body(skill)

    def _is_fresh(self, scan: _CachedScan) -> bool:
        return scan.is_current and (self._ttl_sec is None or self._scans.now() - scan.taken_at < self._ttl_sec)


def apply_refresh_policy(
    source: Source, key: Hashable, policy: Policy, ttl_sec: float, scans: Scans | None = None
) -> Source:
    """Wrap a source in a refresh policy; `always` returns the source itself."""
    return (
        source
        if policy == "always"
        else RefreshingSource(source, key, policy, ttl_sec, SCANS if scans is None else scans)
    )
