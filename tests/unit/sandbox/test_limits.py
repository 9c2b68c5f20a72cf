"""Limits that cannot be kept are refused before anything starts."""

from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.adapter import Inner
from skills_runtime.sandbox.bubblewrap import Bubblewrap
from skills_runtime.sandbox.landlock import Landlock
from skills_runtime.sandbox.limits import MAX_LIMIT, MIN_MEMORY, validate_limits
from skills_runtime.sandbox.machine import this_machine
from skills_runtime.sandbox.policy import CAREFUL, ResourceLimits, build_policy
from skills_runtime.sandbox.protected_paths import Findings


def with_memory(size: int | None) -> ResourceLimits:
    return msgspec.structs.replace(CAREFUL, memory_bytes=size)


@pytest.mark.parametrize("size", [None, MIN_MEMORY, 64 << 20, MAX_LIMIT])
def test_a_limit_in_which_a_fence_has_room_is_taken(size: int | None) -> None:
    validate_limits(with_memory(size))


@pytest.mark.parametrize("size", [0, 1, 1 << 20, MIN_MEMORY - 1])
def test_memory_in_which_not_even_the_fence_has_room_is_refused(size: int) -> None:
    with pytest.raises(SandboxError, match="less than the sandbox itself needs") as refused:
        validate_limits(with_memory(size))
    assert str(MIN_MEMORY) in refused.value.hint


@pytest.mark.parametrize("size", [-1, MAX_LIMIT + 1])
def test_a_number_that_no_kernel_takes_is_refused(size: int) -> None:
    with pytest.raises(SandboxError, match="no kernel accepts"):
        validate_limits(with_memory(size))


def test_what_a_command_cannot_write_is_not_its_own() -> None:
    policy = build_policy("workspace-write", Path("/w"), CAREFUL)
    findings = Findings(read_only=(Path("/w/.vscode"),), hidden_directories=(Path("/w/.skills_runtime_sdk"),))
    inner = Inner(argv=("/bin/true",), cwd=policy.workspace, environment={})
    for adapter in (Bubblewrap(), Landlock()):
        watch = adapter.wrap(policy, this_machine(), findings, inner).setup.watch
        assert watch is not None
        assert watch.disk_excluded == ("/w/.vscode", "/w/.skills_runtime_sdk")
