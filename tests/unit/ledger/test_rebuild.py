"""Deriving the index from run directories again."""

import shutil
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import KeyMissing
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import Problem, RebuildReport, RunIndex, RunRow, rebuild
from skills_runtime.runs.layout import runs_root
from tests.support.users import Unprivileged
from tests.unit.ledger.samples import dump, make_run, make_run_at, open_at, read_run, sample


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Three runs in a workspace."""
    for number in (1, 2, 3):
        make_run(tmp_path / "work", f"run_{number}")
    return tmp_path / "work"


def _ids(index: RunIndex) -> list[str]:
    return sorted(row.run_id for row in index.list(limit=1000))


def test_every_run_directory_is_indexed_with_its_text(index: RunIndex, workspace: Path) -> None:
    report = rebuild(index, [runs_root(workspace)], read_run)
    assert report == RebuildReport(indexed=3, removed=0, problems=())
    assert _ids(index) == ["run_1", "run_2", "run_3"]
    assert index.get("run_2").path == str(runs_root(workspace) / "run_2")
    assert [row.run_id for row in index.search("output of run_3")] == ["run_3"]


def test_rebuilding_twice_gives_the_same_content(index: RunIndex, workspace: Path, state_home: Path) -> None:
    rebuild(index, [runs_root(workspace)], read_run)
    once = dump(state_home)
    rebuild(index, [runs_root(workspace)], read_run)
    assert dump(state_home) == once
    assert len(once["runs"]) == len(once["run_text"]) == 3


def test_a_lost_ledger_is_derived_again_just_as_it_was(workspace: Path, state_home: Path) -> None:
    with open_at(state_home) as ledger:
        rebuild(ledger.index, [runs_root(workspace)], read_run)
    before = dump(state_home)
    shutil.rmtree(state_home)
    with open_at(state_home) as ledger:
        rebuild(ledger.index, [runs_root(workspace)], read_run)
    assert dump(state_home) == before


def test_the_roots_are_remembered_for_the_next_time(index: RunIndex, workspace: Path) -> None:
    rebuild(index, [runs_root(workspace), runs_root(workspace) / ".." / "runs"], read_run)
    assert index.roots() == (runs_root(workspace),)
    assert rebuild(index, index.roots(), read_run).indexed == 3


def test_rows_whose_directory_is_gone_are_dropped(index: RunIndex, workspace: Path) -> None:
    rebuild(index, [runs_root(workspace)], read_run)
    shutil.rmtree(runs_root(workspace) / "run_2")
    assert rebuild(index, [runs_root(workspace)], read_run) == RebuildReport(indexed=2, removed=1, problems=())
    assert _ids(index) == ["run_1", "run_3"]
    assert index.search("run_2") == ()


def test_rows_of_other_roots_are_left_alone(index: RunIndex, workspace: Path) -> None:
    index.record(sample("elsewhere", path="/nowhere/else/elsewhere", workspace_root="/nowhere"))
    assert rebuild(index, [runs_root(workspace)], read_run).removed == 0
    assert "elsewhere" in _ids(index)


def test_runs_of_a_deleted_workspace_are_dropped_and_the_missing_root_is_reported(
    index: RunIndex, workspace: Path
) -> None:
    rebuild(index, [runs_root(workspace)], read_run)
    shutil.rmtree(workspace)
    report = rebuild(index, index.roots(), read_run)
    assert (report.indexed, report.removed) == (0, 3)
    assert [(problem.path, problem.kind) for problem in report.problems] == [(runs_root(workspace), "not_found")]


def test_a_missing_root_is_reported_but_not_remembered(index: RunIndex, tmp_path: Path) -> None:
    report = rebuild(index, [tmp_path / "typo"], read_run)
    assert [problem.kind for problem in report.problems] == ["not_found"]
    assert index.roots() == ()


def test_broken_directories_are_reported_and_do_not_stop_the_others(index: RunIndex, workspace: Path) -> None:
    root = runs_root(workspace)
    (root / "empty").mkdir()
    make_run(workspace, "damaged").joinpath("row.json").write_bytes(b"damaged")
    make_run(workspace, "garbage").joinpath("row.json").write_bytes(b"\xff\x00{")
    make_run(workspace, "deep").joinpath("row.json").write_bytes(b'{"run_id":' + b"[" * 100_000)
    make_run(workspace, "folder").joinpath("row.json").unlink()
    (root / "folder" / "row.json").mkdir()
    report = rebuild(index, [root], read_run)
    assert (report.indexed, report.removed) == (3, 0)
    assert [(problem.path.name, problem.kind) for problem in report.problems] == [
        ("damaged", "log_corrupt"),
        ("deep", "validation"),
        ("empty", "not_found"),
        ("folder", "storage_error"),
        ("garbage", "validation"),
    ]
    assert all(problem.message for problem in report.problems)


def test_an_error_of_ours_is_reported_with_its_kind_and_its_message(index: RunIndex, workspace: Path) -> None:
    def read(directory: Path) -> tuple[RunRow, str]:
        raise KeyMissing(f"the key of `{directory.name}` is elsewhere")

    report = rebuild(index, [runs_root(workspace)], read)
    first = Problem(runs_root(workspace) / "run_1", "key_missing", "the key of `run_1` is elsewhere")
    assert (report.indexed, report.problems[0]) == (0, first)


def test_a_directory_that_holds_another_run_is_reported(index: RunIndex, workspace: Path) -> None:
    shutil.copytree(runs_root(workspace) / "run_1", runs_root(workspace) / "a_copy")
    report = rebuild(index, [runs_root(workspace)], read_run)
    assert [(problem.path.name, problem.kind) for problem in report.problems] == [("a_copy", "validation")]
    assert index.get("run_1").path.endswith("/run_1")


def test_a_copy_in_another_workspace_is_reported_and_the_known_one_stays(
    index: RunIndex, workspace: Path, tmp_path: Path
) -> None:
    rebuild(index, [runs_root(workspace)], read_run)
    copy = make_run(tmp_path / "a_workspace_sorted_first", "run_1", last_seq=99)
    report = rebuild(index, [runs_root(workspace), copy.parent], read_run)
    assert [(problem.path, problem.kind) for problem in report.problems] == [(copy, "run_exists")]
    assert index.get("run_1").path == str(runs_root(workspace) / "run_1")


def test_what_is_not_a_run_directory_is_not_looked_at(index: RunIndex, workspace: Path) -> None:
    (runs_root(workspace) / "note.txt").write_text("x")
    (runs_root(workspace) / ".hidden").mkdir()
    (runs_root(workspace) / "not an id").mkdir()
    assert rebuild(index, [runs_root(workspace)], read_run) == RebuildReport(indexed=3, removed=0, problems=())


def test_a_run_that_lives_elsewhere_is_found_through_its_link(index: RunIndex, workspace: Path, tmp_path: Path) -> None:
    path = make_run_at(tmp_path / "sandbox", "run_4", last_seq=3, workspace=workspace)
    (runs_root(workspace) / "run_4").symlink_to("../../../sandbox")
    assert rebuild(index, [runs_root(workspace)], read_run).indexed == 4
    assert index.get("run_4").path == str(path)


def test_a_run_that_lived_elsewhere_is_dropped_when_its_directory_is_gone(
    index: RunIndex, workspace: Path, tmp_path: Path
) -> None:
    path = make_run_at(tmp_path / "sandbox", "run_4", last_seq=3, workspace=workspace)
    link = runs_root(workspace) / "run_4"
    link.symlink_to(path)
    rebuild(index, [runs_root(workspace)], read_run)
    shutil.rmtree(path)
    report = rebuild(index, [runs_root(workspace)], read_run)
    assert (report.indexed, report.removed) == (3, 1)
    assert [(problem.path, problem.kind) for problem in report.problems] == [(link, "not_found")]


def test_a_link_to_a_link_is_not_followed(index: RunIndex, workspace: Path, tmp_path: Path) -> None:
    path = make_run_at(tmp_path / "sandbox", "run_4", last_seq=3, workspace=workspace)
    (tmp_path / "second").symlink_to(path)
    (runs_root(workspace) / "run_4").symlink_to(tmp_path / "second")
    (runs_root(workspace) / "run_5").symlink_to("run_5")
    report = rebuild(index, [runs_root(workspace)], read_run)
    assert [(problem.path.name, problem.kind) for problem in report.problems] == [
        ("run_4", "validation"),
        ("run_5", "validation"),
    ]


def test_a_log_that_was_cut_is_reported_and_the_known_head_stays(index: RunIndex, workspace: Path) -> None:
    rebuild(index, [runs_root(workspace)], read_run)
    make_run(workspace, "run_2", last_seq=1)
    report = rebuild(index, [runs_root(workspace)], read_run)
    assert (report.indexed, [problem.kind for problem in report.problems]) == (2, ["log_corrupt"])
    assert "shorter" in report.problems[0].message
    assert index.get("run_2").last_seq == 3


def test_a_run_that_is_being_written_meanwhile_is_no_problem(index: RunIndex, workspace: Path) -> None:
    looks: list[str] = []

    def read(directory: Path) -> tuple[RunRow, str]:
        row, text = read_run(directory)
        if directory.name == "run_2" and not looks:
            looks.append("writer went on")
            make_run(workspace, "run_2", last_seq=9, status=RunStatus.COMPLETED)
            index.record(msgspec.structs.replace(read_run(directory)[0], path=str(directory)))
        return row, text

    assert rebuild(index, [runs_root(workspace)], read) == RebuildReport(indexed=3, removed=0, problems=())
    assert index.get("run_2").status is RunStatus.COMPLETED


def test_a_rebuild_that_dies_leaves_whole_batches_and_can_be_repeated(
    index: RunIndex, tmp_path: Path, state_home: Path
) -> None:
    for number in range(620):
        make_run(tmp_path / "work", f"run_{number:04}")

    def read(directory: Path) -> tuple[RunRow, str]:
        if directory.name == "run_0610":
            raise KeyboardInterrupt
        return read_run(directory)

    with pytest.raises(KeyboardInterrupt):
        rebuild(index, [runs_root(tmp_path / "work")], read)
    assert len(dump(state_home)["runs"]) == len(dump(state_home)["run_text"]) == 500
    assert rebuild(index, [runs_root(tmp_path / "work")], read_run).indexed == 620
    assert len(dump(state_home)["runs"]) == 620


def test_an_ordinary_user_is_told_what_may_not_be_read(unprivileged: Unprivileged) -> None:
    def work() -> RebuildReport:
        make_run(unprivileged.path, "run_1")
        make_run(unprivileged.path, "run_2").chmod(0)
        (unprivileged.path / "closed").mkdir(mode=0)
        with open_at(unprivileged.path / "state") as ledger:
            return rebuild(ledger.index, [runs_root(unprivileged.path), unprivileged.path / "closed"], read_run)

    report = unprivileged(work)
    assert (report.indexed, report.removed) == (1, 0)
    assert [(problem.path.name, problem.kind) for problem in report.problems] == [
        ("run_2", "permission"),
        ("closed", "permission"),
    ]


def test_an_unreadable_directory_is_not_taken_for_a_lost_one(unprivileged: Unprivileged) -> None:
    def work() -> tuple[int, list[str]]:
        make_run(unprivileged.path, "run_1")
        root = runs_root(unprivileged.path)
        with open_at(unprivileged.path / "state") as ledger:
            rebuild(ledger.index, [root], read_run)
            root.chmod(0)
            removed = rebuild(ledger.index, [root], read_run).removed
            root.chmod(0o700)
            return removed, _ids(ledger.index)

    assert unprivileged(work) == (0, ["run_1"])
