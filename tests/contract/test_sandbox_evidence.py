"""What the evidence of every sandbox promises has no gap, and what has a gap is no promise."""

from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.ports import ProcessRequest
from skills_runtime.sandbox import CAREFUL, OsSandbox
from skills_runtime.sandbox.adapter import Adapter, Capabilities
from skills_runtime.sandbox.bubblewrap import Bubblewrap
from skills_runtime.sandbox.landlock import Landlock
from skills_runtime.sandbox.machine import ControlGroups, this_machine
from skills_runtime.sandbox.policy import PROFILES, PROMISES, Profile, ResourceLimits, build_policy
from skills_runtime.sandbox.seatbelt import Seatbelt

GROUPS = ControlGroups(version=1, memory=Path("/m"), pids=Path("/p"))
MACHINES: dict[str, dict[str, Any]] = {
    "without control groups": {"control_groups": None, "user": 1000},
    "with control groups": {"control_groups": GROUPS},
    "with control groups that do not count sockets": {
        "control_groups": msgspec.structs.replace(GROUPS, limits_sockets=False)
    },
    "of another kind": {"architecture": None, "control_groups": None},
}
NOTHING = ResourceLimits(
    memory_bytes=None, processes=None, file_bytes=None, open_files=None, disk_bytes=None, disk_files=None
)
LIMITS = {"default": None, "careful": CAREFUL, "none": NOTHING}
LIMITED = {
    "memory": "memory_bytes", "process_count": "processes", "cpu": "cpu_seconds", "file_size": "file_bytes",
    "open_files": "open_files",
}  # fmt: skip


class WorkingBubblewrap(Bubblewrap):
    """As on a machine where it works."""

    def probe(self) -> Capabilities:
        return Capabilities(adapter=self.name, works=True)


class WorkingLandlock(Landlock):
    """As on a machine where it works."""

    def probe(self) -> Capabilities:
        return Capabilities(adapter=self.name, works=True)


class WorkingSeatbelt(Seatbelt):
    """As on a machine where it works."""

    def probe(self) -> Capabilities:
        return Capabilities(adapter=self.name, works=True)


ADAPTERS: tuple[Adapter, ...] = (WorkingBubblewrap(), WorkingLandlock(), WorkingSeatbelt())
adapters = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)


def _evidence(
    adapter: Adapter, profile: Profile, limits: ResourceLimits | None, machine: str, place: Path
) -> tuple[ResourceLimits, set[str], set[str]]:
    """Return the limits, the promises and the promises with a gap of a command, as a result tells them."""
    policy = msgspec.structs.replace(
        build_policy(profile, place, limits), required=frozenset(), accepted_gaps=frozenset(PROMISES), unix_sockets=True
    )
    here = msgspec.structs.replace(this_machine(), **MACHINES[machine])
    evidence = OsSandbox(policy, [adapter], {}, here).plan(ProcessRequest(argv=("/bin/true",), cwd=place)).evidence
    return policy.limits, set(evidence["promises"]), {gap.partition(":")[0] for gap in evidence["gaps"]}


@adapters
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_is_promised_that_is_listed_as_a_gap(adapter: Adapter, machine: str, tmp_path: Path) -> None:
    for profile, limits in product(PROFILES, LIMITS):
        _, promises, gaps = _evidence(adapter, profile, LIMITS[limits], machine, tmp_path)
        assert not promises & gaps, (profile, limits)
        assert promises | gaps == set(PROMISES), (profile, limits)


@adapters
@pytest.mark.parametrize("machine", MACHINES)
def test_no_limit_is_promised_that_the_policy_does_not_set(adapter: Adapter, machine: str, tmp_path: Path) -> None:
    for profile, name in product(PROFILES, LIMITS):
        limits, promises, _ = _evidence(adapter, profile, LIMITS[name], machine, tmp_path)
        unset = {promise for promise, limit in LIMITED.items() if getattr(limits, limit) is None}
        assert not promises & unset, (profile, name)
