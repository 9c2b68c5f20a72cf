"""The fence as the tools meet it: a plan with evidence, or a refusal that says why."""

import itertools
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.config.models import SandboxSettings
from skills_runtime.errors import AccessRefused, NotFound, SandboxError, ValidationFailed
from skills_runtime.ports import ProcessRequest, Sandbox
from skills_runtime.sandbox import (
    NoSandbox,
    OsSandbox,
    UnavailableSandbox,
    build_policy,
    build_sandbox,
    find_adapters,
    is_containing,
    own_directories,
    planner,
)
from skills_runtime.sandbox.adapter import build_environment
from skills_runtime.sandbox.limits import limit_gaps
from skills_runtime.sandbox.machine import ControlGroups, Machine, find_group_directories, this_machine
from skills_runtime.sandbox.planner import check_workspace, git_identity, home_within
from skills_runtime.sandbox.policy import BOUNDED, CONTAINMENT

BARE = Machine(architecture="x86_64", user=1001)


def request(place: Path, *argv: str, **others: Any) -> ProcessRequest:
    return ProcessRequest(argv=argv or ("/bin/true",), cwd=place, **others)


def fence(place: Path, **changes: Any) -> OsSandbox:
    policy = msgspec.structs.replace(build_policy("workspace-write", place), **changes)
    return OsSandbox(policy, find_adapters("bubblewrap"), {"LANG": "de_DE.UTF-8", "OPENAI_API_KEY": "k", "PATH": "/p"})


def test_the_evidence_tells_what_is_promised_and_what_is_not(tmp_path: Path) -> None:
    sandbox: Sandbox = fence(tmp_path)
    evidence = dict(sandbox.plan(request(tmp_path)).evidence)
    assert {name: evidence[name] for name in ("requested", "effective", "adapter", "active", "profile", "network")} == {
        "requested": "inherit",
        "effective": "restricted",
        "adapter": "bubblewrap",
        "active": True,
        "profile": "workspace-write",
        "network": "none",
    }
    assert {"fs_write", "network", "protected_paths", "system_calls"} <= set(evidence["promises"])
    assert any(gap.startswith("disk: ") for gap in evidence["gaps"])
    assert evidence["policy"].startswith("sha256:")
    assert msgspec.json.decode(msgspec.json.encode(evidence)) == evidence


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, True),
        ({"network": "host", "accepted_gaps": frozenset({"network"})}, False),
        ({"network": "host"}, False),
        ({"workspace": Path("/")}, False),
        ({"workspace": Path("/does/not/exist")}, False),
    ],
)
def test_what_a_sandbox_keeps_counts_whether_or_not_its_gaps_are_accepted(
    tmp_path: Path, changes: dict[str, Any], kept: bool
) -> None:
    assert fence(tmp_path, **changes).keeps(CONTAINMENT) is kept


def test_other_sandboxes_contain_nothing(tmp_path: Path) -> None:
    assert is_containing(fence(tmp_path))
    assert not is_containing(NoSandbox({}))
    assert not is_containing(UnavailableSandbox())


def test_a_plan_changes_nothing(tmp_path: Path) -> None:
    assert fence(tmp_path).plan(request(tmp_path)) == fence(tmp_path).plan(request(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_more_rights_are_not_given_here(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot leave its sandbox"):
        fence(tmp_path).plan(request(tmp_path, permissions="require_escalated"))


def test_more_rights_are_given_where_approval_is_asked_first(tmp_path: Path) -> None:
    chosen = build_sandbox(SandboxSettings(), workspace=tmp_path, variables={}, may_leave=True)
    evidence = chosen.plan(request(tmp_path, permissions="require_escalated")).evidence
    assert (evidence["requested"], evidence["effective"], evidence["active"]) == ("require_escalated", "none", False)
    assert chosen.plan(request(tmp_path)).evidence["active"]


def test_a_directory_outside_is_no_place_to_start(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    with pytest.raises(SandboxError, match="outside the workspace"):
        fence(tmp_path / "workspace").plan(request(tmp_path))


def test_the_directory_of_a_skill_can_be_read(tmp_path: Path) -> None:
    for name in ("workspace", "skill"):
        (tmp_path / name).mkdir()
    _, enclosed = fence(tmp_path / "workspace").explain(request(tmp_path / "workspace", readable=(tmp_path / "skill",)))
    place = str(tmp_path / "skill")
    assert ("--ro-bind", place, place) in zip(
        enclosed.options, enclosed.options[1:], enclosed.options[2:], strict=False
    )


@pytest.mark.parametrize(
    ("argv", "error", "message"),
    [
        (("no-such-program",), NotFound, "not a program inside the sandbox"),
        (("/etc/passwd",), NotFound, "not a program inside the sandbox"),
        (("./data",), AccessRefused, "not executable"),
        (("./missing",), NotFound, "not a program inside the sandbox"),
        (("../sneaky",), NotFound, "not a program inside the sandbox"),
        ((), NotFound, "not a program"),
    ],
)
def test_a_program_must_be_there_inside(argv: tuple[str, ...], error: Any, message: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "data").touch()
    (tmp_path / "sneaky").touch(mode=0o755)
    with pytest.raises(error, match=message):
        fence(workspace).plan(ProcessRequest(argv=argv, cwd=workspace))


def test_a_missing_promise_is_a_refusal_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot promise `disk`"):
        fence(tmp_path, required=frozenset({"disk"})).plan(request(tmp_path))


def test_where_there_is_no_adapter_nothing_starts(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="this system has none"):
        OsSandbox(build_policy("workspace-write", tmp_path), (), {}).plan(request(tmp_path))


def test_a_link_at_a_protected_name_is_reported_unless_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / ".vscode").symlink_to("/etc")
    told = f"protected_paths: `{tmp_path}/.vscode` is a link"
    assert any(gap.startswith(told) for gap in fence(tmp_path).plan(request(tmp_path)).evidence["gaps"])
    reading = fence(tmp_path, access="read").plan(request(tmp_path)).evidence
    assert not any(gap.startswith(told) for gap in reading["gaps"])


class TestHomes:
    @pytest.fixture
    def users(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A directory like `/home`, in which the user of these tests lives."""

        class User:
            pw_dir = str(tmp_path / "users/me")

        def user_of(number: int) -> User:
            assert number in (0, os.getuid())
            return User()

        monkeypatch.setattr(planner.pwd, "getpwuid", user_of)
        (tmp_path / "users/me/project").mkdir(parents=True)
        return tmp_path / "users"

    @pytest.mark.parametrize("name", ["me", ""])
    def test_a_home_or_what_holds_one_is_no_workspace(self, name: str, users: Path) -> None:
        with pytest.raises(SandboxError, match="home directory") as caught:
            check_workspace(users / name, {})
        assert caught.value.details == {"home": str(users / "me")}
        check_workspace(users / name, {}, allow_home=True)

    def test_a_project_in_a_home_is_one(self, users: Path) -> None:
        check_workspace(users / "me/project", {})

    def test_the_home_that_the_variables_name_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(tmp_path)
        with pytest.raises(SandboxError, match="is a home directory"):
            check_workspace(tmp_path, {"HOME": str(tmp_path / "link")})

    @pytest.mark.parametrize("home", ["", ".", "relative", "/"])
    def test_a_home_that_means_nothing_forbids_nothing(self, home: str, tmp_path: Path) -> None:
        check_workspace(tmp_path, {"HOME": home})

    def test_the_home_of_another_user_is_none(self) -> None:
        home = planner.HOME_PARENTS[0] / "somebody"
        assert home_within(home, {}) == home
        assert home_within(home / "project", {}) is None

    @pytest.mark.parametrize("place", ["/", "/usr", "/etc", "/home", "/var", "/proc/self", "/dev"])
    def test_what_belongs_to_the_system_is_none_even_if_homes_are_accepted(self, place: str) -> None:
        with pytest.raises(SandboxError, match="belongs to the system"):
            check_workspace(Path(place), {}, allow_home=True)


class TestGitIdentity:
    def test_it_is_the_user_s_own(self, tmp_path: Path) -> None:
        (tmp_path / ".gitconfig").write_text('[core]\n\tname = x\n[user]\n\tname = "A B"\n\temail = a@example.com\n')
        assert git_identity({"HOME": str(tmp_path)}) == ("A B", "a@example.com")

    def test_the_other_file_of_the_user_counts_less(self, tmp_path: Path) -> None:
        (tmp_path / ".config/git").mkdir(parents=True)
        (tmp_path / ".config/git/config").write_text("[user]\nname = first\nemail = first@example.com\n")
        (tmp_path / ".gitconfig").write_text("[user]\nname = second\n")
        assert git_identity({"HOME": str(tmp_path)}) == ("second", "first@example.com")

    def test_variables_count_most(self, tmp_path: Path) -> None:
        variables = {"HOME": str(tmp_path), "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e"}
        assert git_identity(variables) == ("n", "e")

    def test_without_one_it_is_the_agent(self, tmp_path: Path) -> None:
        assert git_identity({"HOME": str(tmp_path)}) == git_identity({}) == ("agent", "agent@localhost")


def test_variables_are_few_and_those_asked_for_come_last() -> None:
    found = build_environment({"LANG": "de", "KEY": "k", "PATH": "/p", "HOME": "/h"}, {"HOME": "/mine", "X": "1"}, BARE)
    assert (found["LANG"], found["HOME"], found["X"]) == ("de", "/mine", "1")
    assert "KEY" not in found
    assert "/p" not in found["PATH"].split(":")


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"default_policy": "none"}, NoSandbox),
        ({"default_policy": "restricted"}, OsSandbox),
        ({"default_policy": "restricted", "os": {"mode": "none"}}, UnavailableSandbox),
        ({"default_policy": "restricted", "os": {"mode": "bubblewrap"}}, OsSandbox),
    ],
)
def test_settings_choose_the_fence(settings: dict[str, Any], kind: type, tmp_path: Path) -> None:
    chosen = build_sandbox(SandboxSettings.model_validate(settings), workspace=tmp_path, variables={})
    assert isinstance(chosen, kind)


def test_the_runtime_s_own_keys_are_hidden_in_a_home(tmp_path: Path) -> None:
    keys = tmp_path / ".local/state/skills_runtime/keys"
    keys.mkdir(parents=True)
    variables = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / ".local/state")}
    assert [path for path in own_directories(tmp_path, variables) if path in (keys, *keys.parents)]
    assert own_directories(tmp_path / "project", variables) == ()
    chosen = build_sandbox(SandboxSettings(allow_home=True), workspace=tmp_path, variables=variables)
    assert isinstance(chosen, OsSandbox)
    _, enclosed = chosen.explain(request(tmp_path))
    covered = {Path(target) for word, target in itertools.pairwise(enclosed.options) if word == "--tmpfs"}
    assert covered & {keys, *keys.parents}


def test_a_network_must_be_the_user_s_wish_and_is_reported(tmp_path: Path) -> None:
    settings = SandboxSettings.model_validate({"os": {"bubblewrap": {"unshare_net": False}}})
    evidence = build_sandbox(settings, workspace=tmp_path, variables={}).plan(request(tmp_path)).evidence
    assert evidence["network"] == "host"
    assert "network" not in evidence["promises"]
    assert evidence["accepted_gaps"] == ["network"]


def test_an_unknown_adapter_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="no adapter"):
        find_adapters("magic")


def test_without_control_groups_memory_is_a_gap(tmp_path: Path) -> None:
    policy = build_policy("workspace-write", tmp_path)
    assert {gap.promise for gap in limit_gaps(policy, BARE, own_users=True)} == {"memory", "cpu", "disk"}
    root = msgspec.structs.replace(BARE, user=0)
    assert "process_count" in {gap.promise for gap in limit_gaps(policy, root, own_users=True)}
    assert {"memory"} <= BOUNDED


def test_places_of_control_groups_are_read_from_the_kernel() -> None:
    memberships = "4:memory:/a/b\n8:pids:/\n0::/user.slice/x.scope\n"
    mounts = (
        "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
        "33 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    )
    assert {name: str(path) for name, path in find_group_directories(memberships, mounts).items()} == {
        "memory": "/sys/fs/cgroup/memory/a/b",
        "pids": "/sys/fs/cgroup/pids",
        "": "/sys/fs/cgroup/unified/user.slice/x.scope",
    }


def test_both_versions_of_control_groups_keep_the_same_limits() -> None:
    one = ControlGroups(version=1, memory=Path("/m"), pids=Path("/p")).groups(memory_bytes=800, processes=7)
    two = ControlGroups(version=2, memory=Path("/g"), pids=Path("/g"), home=Path("/h")).groups(
        memory_bytes=800, processes=7
    )
    assert [dict(group.settings) for group in one] == [
        {"memory.limit_in_bytes": "800", "memory.swappiness": "0", "memory.kmem.tcp.limit_in_bytes": "100"},
        {"pids.max": "7"},
    ]
    assert [dict(group.settings) for group in two] == [{"memory.max": "800", "memory.swap.max": "0", "pids.max": "7"}]
    assert two[0].home == "/h"


def test_this_machine_is_asked_once_for_each_user() -> None:
    assert this_machine() is this_machine()
    assert this_machine().user == os.geteuid()
