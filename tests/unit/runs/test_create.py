"""Creating a run: a whole directory or nothing at all, and never over another run."""

import errno
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import AccessRefused, RunExists, SkillsRuntimeError, StorageFailed, ValidationFailed
from skills_runtime.runs import Deliverable, RunStatus, create_run, open_run, read_events
from skills_runtime.testing import FaultyDisk
from tests.support.runs import copy_of, decoded, finished_run, keys_in, lines_of, new_run, ports_in, spec_in
from tests.support.tools import tree
from tests.support.users import Unprivileged


def _make(directory: Path, **changes: Any) -> Path:
    run = new_run(directory, **changes)
    run.close()
    return run.paths.root


def test_a_new_run_is_pending_and_nothing_has_started(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    assert run.state.status is RunStatus.PENDING
    record = decoded(run.paths.run_json.read_bytes())
    assert (record["status"], record["started_at"], record["completed_at"]) == ("pending", None, None)
    run.close()


def test_the_first_two_events_are_the_birth_and_the_fence(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    types = [decoded(line)["type"] for line in lines_of(paths)]
    assert types[:3] == ["run_created", "sandbox_created", "run_state_changed"]
    assert types[-2:] == ["artifact_manifest_written", "run_completed"]


def test_the_birth_names_every_snapshot_by_digest(tmp_path: Path) -> None:
    root = _make(tmp_path)
    born = decoded((root / "events.jsonl").read_bytes().splitlines()[0])["payload"]
    assert {payload["name"] for payload in born["snapshots"]} == {
        "prompt.md", "config.yaml", "effective-system-prompt.md", "task.yaml", "session.json",
    }  # fmt: skip


def test_the_snapshots_hold_the_exact_bytes(tmp_path: Path) -> None:
    prompt = "Grüße\r\n\ttab  \n\n你好"
    root = _make(tmp_path, prompt=prompt, system_prompt="Be kind.", config_text="run: {max_steps: 3}\n")
    assert (root / "prompt.md").read_bytes() == prompt.encode()
    assert (root / "effective-system-prompt.md").read_bytes() == b"Be kind."
    assert (root / "config.yaml").read_bytes() == b"run: {max_steps: 3}\n"


def test_the_same_ids_give_the_same_place(tmp_path: Path) -> None:
    assert spec_in(tmp_path).root == spec_in(tmp_path).root
    assert _make(tmp_path) == spec_in(tmp_path).root


def test_an_empty_directory_may_become_the_run(tmp_path: Path) -> None:
    root = spec_in(tmp_path).root
    root.mkdir(parents=True)
    assert _make(tmp_path) == root


def test_a_second_run_in_the_same_directory_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    finished_run(tmp_path)
    before = tree(tmp_path)
    with pytest.raises(RunExists) as caught:
        new_run(tmp_path, prompt="another")
    assert (caught.value.kind, caught.value.exit_code) == ("run_exists", 20)
    assert tree(tmp_path) == before


def test_a_directory_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    root = spec_in(tmp_path).root
    root.mkdir(parents=True)
    (root / "mine.txt").write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(ValidationFailed, match="is not empty"):
        new_run(tmp_path)
    assert tree(tmp_path) == before


def test_a_file_in_the_place_of_the_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    spec_in(tmp_path).root.write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(ValidationFailed, match="is a file"):
        new_run(tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("there", ["full", "empty", "gone"])
def test_a_link_in_the_place_of_the_run_is_left_alone(tmp_path: Path, there: str) -> None:
    (tmp_path / "runs").mkdir()
    if there != "gone":
        (tmp_path / "elsewhere").mkdir()
    if there == "full":
        (tmp_path / "elsewhere" / "x").touch()
    spec_in(tmp_path).root.symlink_to(tmp_path / "elsewhere")
    before = tree(tmp_path)
    with pytest.raises(ValidationFailed):
        new_run(tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("bad", ["run_id", "session_id", "task_id"])
def test_an_illegal_id_leaves_nothing_behind(tmp_path: Path, bad: str) -> None:
    with pytest.raises(ValidationFailed):
        create_run(msgspec.structs.replace(spec_in(tmp_path), **{bad: "../x"}), ports_in(tmp_path))
    assert not tree(tmp_path)


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../x", "a/../b", "/x", "a\\b", "a\0b", "a/", "deliverables/", "a\nb", "x\ud800"]
)
def test_a_deliverable_no_run_could_hand_over_leaves_nothing_behind(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValidationFailed):
        new_run(tmp_path, required_deliverables=(Deliverable(path=path),))
    assert not tree(tmp_path)


@pytest.mark.parametrize("path", ["report.md", "./report.md", ".//report.md", "deliverables/report.md"])
def test_a_deliverable_may_be_spelled_as_people_spell_paths(tmp_path: Path, path: str) -> None:
    run = new_run(tmp_path, required_deliverables=(Deliverable(path=path),))
    assert run.state.required_deliverables == ["deliverables/report.md"]
    run.close()


@pytest.mark.parametrize("text", ["\ud800", "half \udce4"])
def test_a_prompt_that_is_not_text_leaves_nothing_behind(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValidationFailed, match="prompt"):
        new_run(tmp_path, prompt=text)
    assert not tree(tmp_path)


def test_a_run_id_that_is_taken_in_the_workspace_leaves_nothing_behind(tmp_path: Path) -> None:
    link = tmp_path / "ws" / "runs" / "run_test"
    _make(tmp_path, root=tmp_path / "first", link=link)
    before = tree(tmp_path)
    with pytest.raises(RunExists, match="is taken"):
        new_run(tmp_path, root=tmp_path / "deep" / "second", link=link)
    assert tree(tmp_path) == before
    assert link.resolve() == tmp_path / "first"


def test_a_link_whose_run_is_gone_does_not_hold_the_id(tmp_path: Path) -> None:
    link = tmp_path / "ws" / "run_test"
    shutil.rmtree(_make(tmp_path, root=tmp_path / "first", link=link))
    assert link.resolve() == tmp_path / "first"
    _make(tmp_path, root=tmp_path / "second", link=link)
    assert link.resolve() == tmp_path / "second"


def test_directories_made_for_the_link_are_for_the_owner_only(tmp_path: Path) -> None:
    _make(tmp_path, root=tmp_path / "first", link=tmp_path / ".state" / "runs" / "run_test")
    assert [oct((tmp_path / name).stat().st_mode)[-3:] for name in (".state", ".state/runs")] == ["700", "700"]


def test_directories_made_for_the_link_go_when_the_run_cannot_be_put_in_place(tmp_path: Path) -> None:
    root = tmp_path / "runs" / "x"
    with pytest.raises(SkillsRuntimeError):
        new_run(tmp_path, root=root, link=root / ".state" / "runs" / "run_test")
    assert "runs" not in {name.partition("/")[0] for name in tree(tmp_path)}


def test_a_log_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    keys_in(tmp_path).current()
    before = tree(tmp_path)
    disk = FaultyDisk()
    disk.fail("write", errno.ENOSPC)
    with pytest.raises(StorageFailed):
        new_run(tmp_path, disk=disk, root=tmp_path / "new" / "runs" / "run_test", link=tmp_path / "ws" / "run_test")
    assert tree(tmp_path) == before


def test_an_unwritable_parent_is_refused_and_stays_empty(unprivileged: Unprivileged) -> None:
    path = unprivileged.path

    def create() -> list[str]:
        locked = path / "locked"
        locked.mkdir(mode=0o500)
        with pytest.raises(AccessRefused):
            new_run(path, root=locked / "a" / "run_test")
        with pytest.raises(AccessRefused):
            new_run(path, root=locked / "run_test")
        with pytest.raises(AccessRefused):
            new_run(path, root=path / "fine" / "run_test", link=locked / "links" / "run_test")
        return [name for name in tree(path) if not name.startswith("state")]

    assert unprivileged(create) == ["locked"]


def test_an_unreadable_parent_is_refused(unprivileged: Unprivileged) -> None:
    path = unprivileged.path

    def create() -> None:
        (path / "locked").mkdir(mode=0o000)
        new_run(path, root=path / "locked" / "a" / "run_test")

    with pytest.raises(AccessRefused):
        unprivileged(create)


def test_a_created_run_can_be_opened_by_the_next_process(tmp_path: Path) -> None:
    root = _make(tmp_path)
    run = open_run(root, ports_in(tmp_path))
    assert run.state.status is RunStatus.PENDING
    run.close()


def test_a_copy_goes_wherever_it_is_put(tmp_path: Path) -> None:
    paths = finished_run(tmp_path)
    there = copy_of(paths, tmp_path / "there")
    assert [event.type for event in read_events(there)] == [event.type for event in read_events(paths)]
