"""runs delete, runs prune, runs open, and the run called `last`."""

import json
from pathlib import Path

import pytest

from tests.e2e.cli.programs import Answer, invoke, say, write, write_config
from tests.e2e.cli.terminals import on_a_terminal
from tests.e2e.cli.test_bad_input import assert_refused


@pytest.fixture
def three(workspace: Path) -> Path:
    """Three runs; the last one has a directory of its own and a deliverable."""
    write_config(workspace, say("Done."))
    for name in ("alpha", "beta"):
        assert invoke("run", name, "--config", "kgent.yaml", "--run-id", name, "-q").code == 0
    write_config(workspace, say("", write("deliverables/a.md")), say("Done."))
    assert invoke("run", "gamma", "--config", "kgent.yaml", "--run-dir", "runs/gamma", "-q").code == 0
    return workspace


def names() -> list[str]:
    return [json.loads(line)["run_id"] for line in invoke("runs", "list", "--json").out.splitlines()]


def test_last_is_the_newest_run_wherever_a_run_is_named(three: Path) -> None:
    assert invoke("runs", "show", "last").out.startswith("run gamma  ")
    for command in ("verify", "transcript", "tail", "metrics", "export"):
        assert invoke("runs", command, "last").code == 0, command
    assert invoke("runs", "fork", "last", "-q").code == 0


def test_last_of_an_empty_workspace_is_not_found(workspace: Path) -> None:
    assert_refused(invoke("runs", "show", "last"), 22, "not_found", "no runs yet")


def test_named_runs_are_deleted_and_others_stay(three: Path) -> None:
    answer = invoke("runs", "delete", "beta", "last", "--yes")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("deleted 2 runs, freed ")
    assert names() == ["alpha"]
    assert not (three / "runs/gamma").exists()


def test_one_name_that_is_wrong_deletes_nothing(three: Path) -> None:
    assert_refused(invoke("runs", "delete", "beta", "nothing", "--yes"), 22, "not_found")
    assert len(names()) == 3


def test_without_a_terminal_a_deletion_has_to_be_confirmed(three: Path) -> None:
    assert_refused(invoke("runs", "delete", "beta"), 2, "usage", "confirm with `--yes`")
    assert_refused(invoke("runs", "prune", "--keep", "0"), 2, "usage", "3 runs would be deleted")
    assert len(names()) == 3


@pytest.mark.parametrize(("typed", "left"), [("y\n", 2), ("\n", 3), ("no\n", 3)])
def test_a_user_at_the_terminal_is_asked_before_anything_is_deleted(three: Path, typed: str, left: int) -> None:
    with on_a_terminal("skills-runtime", "runs", "delete", "last", cwd=three) as screen:
        screen.expect("  gamma  ")
        screen.expect("Delete 1 run for good? [y/N] ")
        screen.type(typed)
        assert screen.end() == (0 if left == 2 else 1)
    assert len(names()) == left


def pruned(*options: str) -> Answer:
    answer = invoke("runs", "prune", *options, "--yes")
    assert answer.code == 0, answer.err
    return answer


def test_pruning_keeps_the_newest(three: Path) -> None:
    write_config(three, say("", ("ask_human", {"question": "Which?"})))
    assert invoke("run", "wait", "--config", "kgent.yaml", "--run-id", "waiting", "-q").code == 26
    assert pruned("--older-than", "1h").out == "deleted 0 runs, freed 0 B\n"
    assert pruned("--keep", "2").out.startswith("deleted 2 runs, freed ")
    assert names() == ["waiting", "gamma"]
    assert json.loads(pruned("--keep", "0", "--json").out)["run_ids"] == ["gamma"]
    assert names() == ["waiting"]


def test_a_run_that_waits_is_deleted_only_by_force(workspace: Path) -> None:
    write_config(workspace, say("", ("ask_human", {"question": "Which?"})))
    assert invoke("run", "wait", "--config", "kgent.yaml", "--run-id", "waiting", "-q").code == 26
    refused = invoke("runs", "delete", "waiting", "--yes")
    assert_refused(refused, 20, "illegal_transition", "has not ended: it is waiting_for_user")
    assert "--force" in refused.err
    assert invoke("runs", "delete", "waiting", "--yes", "--force").code == 0
    assert names() == []


@pytest.mark.parametrize("age", ["", "x", "3", "-1d", "3 months"])
def test_an_age_that_is_none_deletes_nothing(three: Path, age: str) -> None:
    assert_refused(invoke("runs", "prune", f"--older-than={age}", "--yes"), 20, "validation", "is not an age")
    assert len(names()) == 3


def test_pruning_everything_has_to_be_said(workspace: Path) -> None:
    assert_refused(invoke("runs", "prune", "--yes"), 2, "usage", "say which runs to delete")


def test_open_prints_where_the_result_is(three: Path) -> None:
    assert invoke("runs", "open", "last").out == "runs/gamma/deliverables\n"
    assert invoke("runs", "open", "alpha").out == ".skills_runtime_sdk/runs/alpha\n"
