"""Policies are values: equal ones have one name, and every difference is another name."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import ValidationFailed
from skills_runtime.sandbox.adapter import list_held_promises
from skills_runtime.sandbox.policy import (
    BOUNDED,
    CAREFUL,
    DESCRIPTIONS,
    ISOLATION,
    PROFILES,
    PROMISES,
    Gap,
    ResourceLimits,
    SandboxPolicy,
    build_policy,
    parse_profile,
    parse_promise,
    refusal,
    unmet,
)

POLICY = SandboxPolicy(profile="workspace-write", workspace=Path("/project"), limits=CAREFUL)


def test_the_digest_is_the_same_on_every_machine() -> None:
    assert POLICY.digest == "sha256:2e6117c2882a8c26ffcb02c64a109d96594f598b8d2123340a48b41931319ec8"


def test_equal_policies_are_one() -> None:
    other = SandboxPolicy(profile="workspace-write", workspace=Path("/project"), limits=CAREFUL)
    assert {POLICY, other} == {POLICY}
    assert POLICY.digest == other.digest


@pytest.mark.parametrize(
    "change",
    [
        {"workspace": Path("/other")},
        {"access": "read"},
        {"network": "host"},
        {"unix_sockets": True},
        {"readable": (Path("/skills"),)},
        {"writable": (Path("/skills"),)},
        {"limits": ResourceLimits()},
        {"required": BOUNDED},
        {"accepted_gaps": frozenset({"network"})},
        {"owner": (1, 2)},
    ],
)
def test_every_difference_is_another_digest(change: dict[str, Any]) -> None:
    assert msgspec.structs.replace(POLICY, **change).digest != POLICY.digest


def test_every_profile_has_a_policy_and_a_description() -> None:
    assert PROFILES == ("read-only", "workspace-write", "workspace-net", "build", "danger")
    assert set(DESCRIPTIONS) == set(PROFILES)
    assert [build_policy(profile, Path("/p")).profile for profile in PROFILES] == list(PROFILES)


def test_only_danger_requires_nothing() -> None:
    required = {profile: build_policy(profile, Path("/p")).required for profile in PROFILES}
    assert required.pop("danger") == frozenset()
    assert set(required.values()) == {ISOLATION}


def test_the_default_profile_is_what_the_old_name_means() -> None:
    assert parse_profile("restricted") == "workspace-write"
    with pytest.raises(ValidationFailed, match="no profile"):
        parse_profile("other")


def test_a_gap_in_what_is_required_is_unmet() -> None:
    gaps = (
        Gap(promise="network", text="t"),
        Gap(promise="disk", text="t"),
        Gap(promise="fs_write", text="t", partial=True),
    )
    assert [gap.promise for gap in unmet(ISOLATION, frozenset(), gaps)] == ["network"]
    assert unmet(ISOLATION, frozenset({"network"}), gaps) == ()


def test_what_has_no_gap_is_promised() -> None:
    gaps = (Gap(promise="network", text="t"), Gap(promise="fs_write", text="t", partial=True))
    assert set(PROMISES) - set(list_held_promises(gaps)) == {"network", "fs_write"}


def test_a_refusal_names_what_is_missing_and_what_to_do() -> None:
    error = refusal("bubblewrap", (Gap(promise="memory", text="no groups", fix="use them"),))
    assert error.kind == "sandbox_denied"
    assert error.exit_code == 24
    assert "`memory`" in error.message
    assert "no groups" in error.message
    assert error.hint == "use them"
    assert error.details == {"adapter": "bubblewrap", "missing": ["memory"]}


def test_promises_have_names() -> None:
    assert parse_promise("network") == "network"
    with pytest.raises(ValidationFailed, match="no promise"):
        parse_promise("peace")
