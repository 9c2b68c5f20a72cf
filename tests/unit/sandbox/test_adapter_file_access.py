"""What whoever approves a command is told of the files it can read and write."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.config.models import SandboxSettings
from skills_runtime.ports import Grant, ProcessRequest
from skills_runtime.ports.files import MAX_LISTED_PATHS, FileAccess
from skills_runtime.sandbox import NoSandbox, OsSandbox, build_policy, find_adapters
from skills_runtime.sandbox.from_settings import build_sandbox
from skills_runtime.sandbox.landlock import Landlock
from skills_runtime.sandbox.machine import Machine
from skills_runtime.sandbox.policy import Profile
from skills_runtime.sandbox.protected_paths import Findings
from skills_runtime.sandbox.seatbelt import READABLE, Seatbelt

MACHINE = Machine(architecture="x86_64", user=1001, roots=("/usr",), files=("/etc/services",))


def told(place: Path, profile: Profile = "workspace-write", **others: Any) -> dict[str, Any]:
    """What an approver reads of a command in this workspace."""
    fence = OsSandbox(build_policy(profile, place), find_adapters("bubblewrap"), {"PATH": "/p"})
    plan = fence.plan(ProcessRequest(argv=("/bin/true",), cwd=place, **others))
    return plan.to_dict()["file_access"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    for name in (".claude", ".git/hooks", ".skills_runtime_sdk"):
        (place / name).mkdir(parents=True)
    (place / ".env").write_text("TOKEN=1")
    return place


def test_the_workspace_can_be_written_and_temporary_files_go_to_a_place_of_their_own(workspace: Path) -> None:
    files = told(workspace)
    assert (files["workspace"], files["writable"], files["readable"]) == (str(workspace), [str(workspace)], [])
    assert files["temporary"] == "/tmp"


def test_the_system_can_be_read(workspace: Path) -> None:
    assert "/usr" in told(workspace)["system"]


def test_what_is_protected_and_what_is_hidden_is_named(workspace: Path) -> None:
    files = told(workspace)
    assert files["protected"] == [str(workspace / name) for name in (".claude", ".git/hooks")]
    assert files["hidden"] == [str(workspace / name) for name in (".env", ".skills_runtime_sdk")]


def test_a_read_only_workspace_is_read_and_nothing_in_it_needs_protection(workspace: Path) -> None:
    files = told(workspace, "read-only")
    assert (files["writable"], files["readable"], files["protected"]) == ([], [str(workspace)], [])
    assert files["hidden"] == [str(workspace / name) for name in (".env", ".skills_runtime_sdk")]


def test_the_directory_of_a_skill_and_what_was_granted_are_among_them(workspace: Path, tmp_path: Path) -> None:
    for name in ("skill", "out"):
        (tmp_path / name).mkdir()
    files = told(workspace, readable=(tmp_path / "skill",), grant=Grant(writable=(str(tmp_path / "out"),)))
    assert str(tmp_path / "out") in files["writable"]
    assert files["readable"] == [str(tmp_path / "skill")]


def test_long_lists_are_cut_and_say_by_how_much(workspace: Path) -> None:
    for number in range(MAX_LISTED_PATHS):
        (workspace / f".env.{number}").touch()
    files = told(workspace)
    assert len(files["hidden"]) == MAX_LISTED_PATHS
    assert files["left_out"] == {"hidden": 2}


def test_it_is_reported_the_same_each_time_and_as_plain_data(workspace: Path) -> None:
    files = told(workspace)
    assert files == told(workspace)
    assert msgspec.json.decode(msgspec.json.encode(files)) == files


def test_a_name_that_is_no_text_can_be_reported() -> None:
    files = FileAccess(workspace=Path("/w"), hidden=(Path("/w/\udcff"),)).to_dict()
    assert msgspec.json.decode(msgspec.json.encode(files))["hidden"] == ["/w/\\udcff"]


def test_no_result_repeats_it(workspace: Path) -> None:
    fence = OsSandbox(build_policy("workspace-write", workspace), find_adapters("bubblewrap"), {})
    assert "file_access" not in fence.plan(ProcessRequest(argv=("/bin/true",), cwd=workspace)).evidence


def test_without_a_fence_no_list_pretends_to_be_one(workspace: Path) -> None:
    unfenced = build_sandbox(SandboxSettings(default_policy="none"), workspace=workspace, variables={})
    assert isinstance(unfenced, NoSandbox)
    assert "file_access" not in unfenced.plan(ProcessRequest(argv=("true",), cwd=workspace)).to_dict()


def test_landlock_claims_neither_to_protect_nor_to_hide() -> None:
    policy = build_policy("workspace-write", Path("/w"))
    found = Findings(read_only=(Path("/w/.git"),), hidden_files=(Path("/w/.env"),))
    files = Landlock().file_access(policy, MACHINE, found)
    assert (files.writable, files.protected, files.hidden, files.temporary) == ((Path("/w"),), (), (), "")
    assert {"/usr", "/etc/services", "/etc/passwd"} <= set(files.system)


def test_seatbelt_claims_only_what_its_profile_denies() -> None:
    policy = build_policy("workspace-write", Path("/w"))
    found = Findings(
        read_only=(Path("/w/.git"), Path("/w/a/HEAD")), hidden_files=(Path("/w/.env"), Path("/w/second-name"))
    )
    files = Seatbelt().file_access(policy, MACHINE, found)
    assert (files.protected, files.hidden) == ((Path("/w/.git"),), (Path("/w/.env"),))
    assert files.system == READABLE
