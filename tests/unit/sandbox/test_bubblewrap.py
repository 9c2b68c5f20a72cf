"""Plans are pure: the same policy on the same machine is told to the fence in the same words."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.sandbox.adapter import Inner
from skills_runtime.sandbox.bubblewrap import NUMBERS, Bubblewrap, build_invocation
from skills_runtime.sandbox.limits import kernel_limits
from skills_runtime.sandbox.machine import ControlGroups, Machine
from skills_runtime.sandbox.policy import CAREFUL, SandboxPolicy, build_policy
from skills_runtime.sandbox.protected_paths import Findings
from skills_runtime.sandbox.seatbelt import Seatbelt, build_parameters, profile_text

GOLDEN = Path(__file__).parent / "golden"
PLACE = Path("/project")
MACHINE = Machine(
    architecture="x86_64",
    user=1001,
    roots=("/usr",),
    links=(("/bin", "usr/bin"), ("/etc/localtime", "/usr/share/zoneinfo/UTC")),
    files=("/etc/ld.so.cache",),
    session_maker="/usr/bin/setsid",
    identity_changer="/usr/bin/setpriv",
)
ROOT = msgspec.structs.replace(MACHINE, user=0, kernel_secrets=("/proc/keys",), kernel_directories=("/proc/acpi",))
FINDINGS = Findings(
    read_only=(PLACE / ".git/config", PLACE / ".git/hooks", PLACE / "deep/nested/.vscode"),
    hidden_files=(PLACE / ".env",),
    hidden_directories=(PLACE / ".skills_runtime_sdk",),
    pinned=(PLACE / ".git", PLACE / "deep", PLACE / "deep/nested"),
)
INNER = Inner(argv=("make", "test"), cwd=PLACE, environment={"PATH": "/usr/bin", "KEY": "value"})


def lines(options: tuple[str, ...]) -> str:
    """One option a line, with what belongs to it."""
    return "".join(f"\n{word}" if word.startswith("--") else f" {word}" for word in options).strip() + "\n"


def wrapped(policy: SandboxPolicy, machine: Machine = MACHINE, **changes: Any) -> tuple[str, ...]:
    inner = msgspec.structs.replace(INNER, **changes)
    found = build_invocation(policy, FINDINGS, machine, inner, b"filter")
    return (*found.options, "--", *found.command)


@pytest.mark.parametrize("profile", ["read-only", "workspace-write", "build"])
def test_a_plan_is_the_one_that_was_reviewed(profile: Any) -> None:
    policy = build_policy(profile, PLACE, None if profile == "build" else CAREFUL)
    assert lines(wrapped(policy)) == (GOLDEN / f"bubblewrap.{profile}.txt").read_text()


def test_parents_are_pinned_before_what_is_protected_in_them() -> None:
    options = lines(wrapped(build_policy("workspace-write", PLACE))).splitlines()
    order = [options.index(f"--{kind} {path} {path}") for kind, path in (
        ("bind", PLACE), ("bind", PLACE / "deep"), ("bind", PLACE / "deep/nested"),
        ("ro-bind", PLACE / "deep/nested/.vscode"),
    )]  # fmt: skip
    assert order == sorted(order)


def test_the_root_is_closed_after_everything_is_in_place() -> None:
    options = lines(wrapped(build_policy("workspace-write", PLACE))).splitlines()
    closed = options.index("--remount-ro /")
    assert not [line for line in options[closed + 1 :] if "bind" in line or "tmpfs" in line or "--dir" in line]


def test_what_may_be_written_below_a_hidden_directory_comes_after_it() -> None:
    policy = msgspec.structs.replace(
        build_policy("workspace-write", PLACE), writable=(PLACE / ".skills_runtime_sdk/runs/r/deliverables",)
    )
    options = lines(wrapped(policy)).splitlines()
    place = f"{PLACE}/.skills_runtime_sdk"
    inner = f"{place}/runs/r/deliverables"
    order = [options.index(line) for line in (f"--tmpfs {place}", f"--bind {inner} {inner}", f"--remount-ro {place}")]
    assert order == sorted(order)


def test_the_kernel_s_secrets_are_covered_for_an_administrator() -> None:
    options = lines(wrapped(build_policy("workspace-write", PLACE), ROOT))
    assert "--ro-bind /dev/null /proc/keys\n" in options
    assert "--tmpfs /proc/acpi\n--remount-ro /proc/acpi\n" in options


def test_an_administrator_s_command_runs_as_the_owner_of_the_workspace() -> None:
    policy = msgspec.structs.replace(build_policy("workspace-write", PLACE), owner=(1001, 1002))
    argv = Bubblewrap().wrap(policy, ROOT, FINDINGS, INNER).argv
    assert argv[:5] == ("/usr/bin/setpriv", "--reuid=1001", "--regid=1002", "--clear-groups", "--")
    for machine, owner in ((ROOT, (0, 0)), (MACHINE, (1001, 1002))):
        policy = msgspec.structs.replace(policy, owner=owner)
        assert "setpriv" not in Bubblewrap().wrap(policy, machine, FINDINGS, INNER).argv[0]


def test_variables_travel_by_a_descriptor_only() -> None:
    enclosed = Bubblewrap().wrap(build_policy("workspace-write", PLACE), MACHINE, FINDINGS, INNER)
    assert not any("value" in word for word in enclosed.argv)
    assert enclosed.environment == {}
    assert b"--setenv\0KEY\0value\0" in enclosed.setup.inputs[0]
    assert len(enclosed.setup.inputs) == len(NUMBERS) + len(FINDINGS.hidden_files)
    assert "value" not in repr(enclosed.setup)


def test_a_name_that_is_not_text_reaches_the_fence_byte_by_byte() -> None:
    policy = build_policy("workspace-write", Path("/pro\udcffject"))
    found = build_invocation(policy, Findings(), MACHINE, INNER, b"")
    assert b"--bind\0/pro\xffject\0/pro\xffject\0" in found.inputs[0]


def test_on_a_terminal_the_command_begins_its_own_session() -> None:
    options = wrapped(build_policy("workspace-write", PLACE), terminal=True)
    assert "--new-session" not in options
    assert options[options.index("--") + 1 :][:2] == ("/usr/bin/setsid", "--ctty")
    without = wrapped(
        build_policy("workspace-write", PLACE), msgspec.structs.replace(MACHINE, session_maker=None), terminal=True
    )
    assert "--new-session" in without


def test_control_groups_take_the_place_of_limits_for_each_process() -> None:
    groups = ControlGroups(version=1, memory=Path("/m"), pids=Path("/p"))
    with_groups = msgspec.structs.replace(MACHINE, control_groups=groups)
    policy = build_policy("workspace-write", PLACE, CAREFUL)
    assert "data" in dict(kernel_limits(policy.limits, MACHINE).values)
    assert "data" not in dict(kernel_limits(policy.limits, with_groups).values)
    setup = Bubblewrap().wrap(policy, with_groups, FINDINGS, INNER).setup
    assert [group.parent for group in setup.control_groups] == ["/m", "/p"]
    assert ("memory.limit_in_bytes", str(CAREFUL.memory_bytes)) in setup.control_groups[0].settings
    assert setup.watch is not None
    assert setup.watch.memory_bytes is None


def test_the_service_manager_limits_where_there_are_no_control_groups() -> None:
    machine = msgspec.structs.replace(MACHINE, scope_maker="/usr/bin/systemd-run")
    enclosed = Bubblewrap().wrap(build_policy("workspace-write", PLACE, CAREFUL), machine, FINDINGS, INNER)
    assert enclosed.argv[:9] == (
        "/usr/bin/systemd-run", "--user", "--scope", "--quiet", "--collect", "--property=MemoryMax=536870912",
        "--property=MemorySwapMax=0", "--property=TasksMax=200", "--",
    )  # fmt: skip
    assert enclosed.environment == {"XDG_RUNTIME_DIR": "/run/user/1001"}
    assert enclosed.setup.control_groups == ()


def test_only_secrets_are_covered_where_nothing_can_be_written() -> None:
    options = lines(wrapped(build_policy("read-only", PLACE))).splitlines()
    about_paths = [line for line in options if f" {PLACE}/" in line and "bind" in line]
    assert [line.split()[-1] for line in about_paths] == [f"{PLACE}/.env"]


def test_git_knows_the_user_by_name_and_address() -> None:
    files = build_invocation(build_policy("workspace-write", PLACE), FINDINGS, MACHINE, INNER, b"filter").inputs
    assert any(b'name = "agent"' in data for data in files)
    hostile = msgspec.structs.replace(INNER, git_identity=('A"\n[core]\n\tpager = evil', "a@example.com"))
    (config,) = [
        data
        for data in build_invocation(build_policy("workspace-write", PLACE), FINDINGS, MACHINE, hostile, b"").inputs
        if data.startswith(b"[user]")
    ]
    assert b"\n\tpager" not in config
    assert b'email = "a@example.com"' in config


def test_the_profile_for_macos_is_the_one_that_was_reviewed() -> None:
    policy = msgspec.structs.replace(
        build_policy("workspace-write", PLACE), readable=(Path("/skills"),), writable=(Path("/out"),)
    )
    assert profile_text(policy) == (GOLDEN / "seatbelt.workspace-write.txt").read_text()


def test_no_path_stands_in_the_profile_for_macos() -> None:
    policy = build_policy("workspace-write", Path('/a") (allow default) ("'))
    assert "allow default" not in profile_text(policy)
    assert build_parameters(policy) == {"WORKSPACE": str(policy.workspace)}


def test_on_linux_there_is_no_seatbelt() -> None:
    assert "macOS" in Seatbelt().probe().problem
