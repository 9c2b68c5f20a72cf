"""Recording, finding and listing runs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import NotFound, RunExists, ValidationFailed
from skills_runtime.events.states import RunStatus
from skills_runtime.ledger import RunIndex
from skills_runtime.ledger.index import Entry
from skills_runtime.text import make_title
from tests.unit.ledger.samples import dump, open_at, sample


def _moment(second: int) -> str:
    return f"2025-01-01T00:00:{second:02}.000000Z"


def _ids(rows: Any) -> list[str]:
    return [row.run_id for row in rows]


def test_a_row_comes_back_as_it_was_recorded(index: RunIndex) -> None:
    row = sample(
        kind="skill", profile_id="p", model="m", started_at=_moment(1), completed_at=_moment(2), failure_reason="坏了",
        input_tokens=1, output_tokens=2, tool_calls=3, pending_approvals=4, parent_run_id="run_0", attempt=2,
        status=RunStatus.FAILED,
    )  # fmt: skip
    assert index.record(row)
    assert index.get("run_1") == row


def test_a_later_state_replaces_an_earlier_one(index: RunIndex) -> None:
    index.record(sample(last_seq=7))
    assert index.record(sample(last_seq=8, status=RunStatus.COMPLETED))
    assert index.get("run_1").status is RunStatus.COMPLETED
    assert len(index.list()) == 1


def test_the_same_head_may_be_recorded_again(index: RunIndex) -> None:
    index.record(sample(last_seq=7, pending_approvals=1))
    assert index.record(sample(last_seq=7, pending_approvals=0))
    assert index.get("run_1").pending_approvals == 0


def test_a_shorter_log_never_replaces_a_longer_one(index: RunIndex) -> None:
    longer = sample(last_seq=7, last_mac="aa")
    index.record(longer, text="known words")
    assert not index.record(sample(last_seq=6, last_mac="bb", title="Other"), text="others")
    assert index.get("run_1") == longer
    assert _ids(index.search("known")) == ["run_1"]


def test_a_shorter_log_is_refused_under_another_name_of_the_same_directory(index: RunIndex, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    index.record(sample(path=str(tmp_path / "real"), last_seq=7))
    assert not index.record(sample(path=str(tmp_path / "link"), last_seq=6))
    assert index.record(sample(path=str(tmp_path / "link"), last_seq=8))


def test_a_second_directory_with_the_same_id_is_refused(index: RunIndex, tmp_path: Path) -> None:
    first = sample(path=str(tmp_path))
    index.record(first)
    with pytest.raises(RunExists, match="run_1") as caught:
        index.record(sample(path=str(tmp_path / "copy"), last_seq=100))
    assert caught.value.hint
    assert index.get("run_1") == first


def test_a_run_that_moved_is_found_at_its_new_place(index: RunIndex, tmp_path: Path) -> None:
    index.record(sample(path=str(tmp_path / "gone"), last_seq=7))
    assert index.record(sample(path=str(tmp_path / "new"), last_seq=5))
    assert index.get("run_1").path == str(tmp_path / "new")


@pytest.mark.parametrize(
    "change",
    [{"run_id": "../x"}, {"session_id": ""}, {"task_id": "a/b"}, {"path": "relative"}, {"model": "\ud800"},
     {"last_seq": 2**63}],
)  # fmt: skip
def test_a_row_that_cannot_be_kept_is_refused(index: RunIndex, change: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailed):
        index.record(sample(**change))
    assert index.list() == ()


def test_one_bad_entry_does_not_stop_the_others(index: RunIndex) -> None:
    outcomes = index.record_all([Entry(sample("a1")), Entry(sample("a2", path="relative")), Entry(sample("a3"))])
    assert (outcomes[0], type(outcomes[1]), outcomes[2]) == ("stored", ValidationFailed, "stored")
    assert sorted(_ids(index.list())) == ["a1", "a3"]


def test_an_unknown_run_is_not_found_and_the_hint_says_where_to_look(index: RunIndex) -> None:
    for look in (index.get, index.find):
        with pytest.raises(NotFound, match="run_9") as caught:
            look("run_9")
        assert "ledger rebuild" in caught.value.hint


def test_a_run_is_found_by_the_beginning_of_its_id(index: RunIndex) -> None:
    for run_id in ("run_abc1", "run_abd2", "run_ABC1", "run_zz-z"):
        index.record(sample(run_id))
    assert index.find("run_abc").run_id == "run_abc1"
    assert index.find("run_abd2").run_id == "run_abd2"
    assert index.find("run_zz").run_id == "run_zz-z"


def test_an_ambiguous_beginning_lists_the_candidates(index: RunIndex) -> None:
    for run_id in ("run_a1", "run_a2", "run_b1"):
        index.record(sample(run_id))
    with pytest.raises(ValidationFailed, match="`run_a1`, `run_a2`") as caught:
        index.find("run_a")
    assert caught.value.details == {"candidates": ["run_a1", "run_a2"]}


def test_many_candidates_are_cut(index: RunIndex) -> None:
    index.record_all(Entry(sample(f"run_{number:02}")) for number in range(30))
    with pytest.raises(ValidationFailed, match="and others") as caught:
        index.find("run_")
    assert len(caught.value.details["candidates"]) == 10


def test_a_whole_id_wins_over_longer_ones_and_may_be_short(index: RunIndex) -> None:
    for run_id in ("r1", "run_1", "run_10"):
        index.record(sample(run_id))
    assert index.find("run_1").run_id == "run_1"
    assert index.find("r1").run_id == "r1"


@pytest.mark.parametrize("prefix", ["", "run", "%run", "run_*", "run_~"])
def test_a_beginning_that_is_too_short_or_illegal_is_refused(index: RunIndex, prefix: str) -> None:
    index.record(sample("run_1"))
    with pytest.raises(ValidationFailed):
        index.find(prefix)


def test_an_underscore_in_a_beginning_is_no_wildcard(index: RunIndex) -> None:
    index.record(sample("runxabc"))
    with pytest.raises(NotFound):
        index.find("run_")


def test_the_last_letter_is_part_of_every_beginning(index: RunIndex) -> None:
    index.record(sample("zzzzzz"))
    assert index.find("zzzz").run_id == "zzzzzz"


def test_runs_are_listed_newest_first(index: RunIndex) -> None:
    for run_id, second in (("a", 1), ("c", 3), ("b", 2)):
        index.record(sample(run_id, created_at=_moment(second)))
    assert _ids(index.list()) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"workspace_root": "/w1"}, ["d", "a"]),
        ({"workspace_root": Path("/w2")}, ["c", "b"]),
        ({"session_id": "s1"}, ["b", "a"]),
        ({"session_id": "s2", "task_id": "t1"}, ["c"]),
        ({"status": RunStatus.FAILED}, ["d"]),
        ({"status": RunStatus.FAILED, "workspace_root": "/w2"}, []),
        ({"session_id": "' OR 1=1 --"}, []),
        ({"limit": 1}, ["d"]),
    ],
)
def test_a_list_can_be_narrowed(index: RunIndex, filters: dict[str, Any], expected: list[str]) -> None:
    index.record(sample("a", workspace_root="/w1", session_id="s1", task_id="t1", created_at=_moment(1)))
    index.record(sample("b", workspace_root="/w2", session_id="s1", task_id="t2", created_at=_moment(2)))
    index.record(sample("c", workspace_root="/w2", session_id="s2", task_id="t1", created_at=_moment(3)))
    last = sample("d", workspace_root="/w1", session_id="s2", task_id="t2", created_at=_moment(4))
    index.record(last, text="x")
    index.record(sample("d", **{name: getattr(last, name) for name in ("workspace_root", "session_id", "task_id")},
                        created_at=_moment(4), status=RunStatus.FAILED))  # fmt: skip
    assert _ids(index.list(**filters)) == expected


def test_pages_hold_every_run_once_though_runs_share_a_moment_and_new_ones_arrive(index: RunIndex) -> None:
    index.record_all(Entry(sample(f"r{number:02}", created_at=_moment(number // 3))) for number in range(20))
    seen: list[str] = []
    before = None
    while page := index.list(limit=3, before=before):
        seen += _ids(page)
        before = page[-1].cursor
        index.forget(page[-1].run_id)
        index.record(sample(f"new{len(seen)}", created_at=_moment(59)))
    assert seen == [f"r{number:02}" for number in reversed(range(20))]


def test_an_unknown_cursor_is_refused(index: RunIndex) -> None:
    with pytest.raises(ValidationFailed, match="not a cursor"):
        index.list(before="run_1")


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_size_out_of_bounds_is_refused(index: RunIndex, limit: int) -> None:
    for use in (lambda: index.list(limit=limit), lambda: index.search("x", limit), lambda: index.sessions(limit=limit)):
        with pytest.raises(ValidationFailed, match="page size"):
            use()


def test_sessions_and_tasks_are_derived_from_runs(index: RunIndex) -> None:
    runs = [
        ("a", "s1", "t1", 1, 5, RunStatus.FAILED),
        ("b", "s1", "t1", 2, 9, RunStatus.COMPLETED),
        ("c", "s1", "t2", 3, 7, RunStatus.RUNNING),
        ("d", "s2", "t1", 4, 20, RunStatus.PENDING),
    ]
    for run_id, session, task, created, updated, status in runs:
        index.record(sample(run_id, session_id=session, task_id=task, title=f"title {run_id}", status=status,
                            created_at=_moment(created), updated_at=_moment(updated)))  # fmt: skip
    sessions = [
        (row.session_id, row.title, row.tasks, row.runs, row.updated_at, row.status) for row in index.sessions()
    ]
    assert sessions == [
        ("s2", "title d", 1, 1, _moment(20), RunStatus.PENDING),
        ("s1", "title a", 2, 3, _moment(9), RunStatus.COMPLETED),
    ]
    tasks = [(row.task_id, row.title, row.runs, row.updated_at, row.status) for row in index.tasks("s1")]
    assert tasks == [
        ("t1", "title a", 2, _moment(9), RunStatus.COMPLETED),
        ("t2", "title c", 1, _moment(7), RunStatus.RUNNING),
    ]
    assert index.tasks("s9") == ()


def test_a_forgotten_run_is_neither_listed_nor_found_by_its_text(index: RunIndex, state_home: Path) -> None:
    index.record(sample(), text="secret words")
    assert index.forget("run_1")
    assert not index.forget("run_1")
    assert index.list() == index.search("secret") == index.search("Fix") == ()
    assert dump(state_home)["run_text"] == []


def test_what_was_recorded_is_there_after_reopening(state_home: Path) -> None:
    with open_at(state_home) as ledger:
        ledger.index.record(sample(), text="words")
        ledger.index.remember_root(Path("/w/runs"))
    with open_at(state_home) as ledger:
        assert _ids(ledger.index.search("words")) == ["run_1"]
        assert ledger.index.roots() == (Path("/w/runs"),)


def test_roots_are_remembered_once_and_can_be_forgotten(index: RunIndex) -> None:
    for path in ("/b", "/a", "/a/../b", "/b/"):
        index.remember_root(Path(path))
    assert index.roots() == (Path("/a"), Path("/b"))
    index.forget_root(Path("/a"))
    assert index.roots() == (Path("/b"),)


def test_threads_may_record_and_read_at_once(index: RunIndex, state_home: Path) -> None:
    def work(number: int) -> int:
        index.record(sample(f"r{number % 10}", last_seq=number), text=f"text {number}")
        return len(index.search("text"))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(100)))
    assert [row.last_seq for row in sorted(index.list(), key=lambda row: row.run_id)] == list(range(90, 100))
    assert len(dump(state_home)["run_text"]) == 10


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("", ""),
        ("\n\n  Fix   it \nmore", "Fix it"),
        ("修复登录\n然后", "修复登录"),
        ("a\x1b[31mb\x00c", "a [31mb c"),
        ("\ud800x", "x"),
        ("w" * 500, "w" * 120),
    ],
)
def test_a_title_is_the_first_line_that_says_something(prompt: str, title: str) -> None:
    assert make_title(prompt) == title


def test_a_long_title_is_cut_when_it_is_recorded(index: RunIndex) -> None:
    index.record(sample(title="long " * 100))
    assert len(index.get("run_1").title) <= 120
