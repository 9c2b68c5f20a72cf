"""kgent run with a scripted model, as a real process: what it leaves on disk, on stdout and on stderr."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from skills_runtime.cli.main import NAMES
from tests.e2e.cli.programs import (
    DIRECTORIES,
    FILES,
    Answer,
    call,
    environment,
    invoke,
    say,
    start,
    tree,
    write,
    write_config,
)
from tests.support.users import home_variables

ANSWER = "The report is ready.\n报告已完成。"
SCRIPT = (
    say("Notes first. 先写要点。", write("workspace/notes.md")),
    say("Now the report.", write("deliverables/report.md", "# Report 报告\n")),
    say(ANSWER),
)
REPORT_REQUIRED = {"required": ["report.md"]}


def run_into(place: Path, directory: str, *more: str, program: str = "kgent", **variables: str) -> Answer:
    arguments = ("--config", "kgent.yaml", "--prompt", "Write a report 写一份报告", "--sandbox", directory)
    return call(program, "run", *arguments, *more, cwd=place, env=environment(**variables))


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def events_of(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "events.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """One run to its end, looked at by several tests."""
    place = tmp_path_factory.mktemp("finished")
    write_config(place, *SCRIPT, deliverables=REPORT_REQUIRED)
    # A fixture for several tests is made before any of them has a home of its own.
    home = home_variables(tmp_path_factory.mktemp("home"))
    return place / "runs/demo-001", run_into(place, "./runs/demo-001", **home)


def test_a_completed_run_exits_0_and_only_its_answer_is_on_stdout(finished: tuple[Path, Answer]) -> None:
    _, answer = finished
    assert (answer.code, answer.out) == (0, f"{ANSWER}\n"), answer.err


def test_every_file_and_directory_of_a_run_is_there(finished: tuple[Path, Answer]) -> None:
    root, _ = finished
    assert all((root / name).is_file() for name in FILES)
    assert all((root / name).is_dir() for name in DIRECTORIES)
    assert (root / "deliverables/report.md").read_text() == "# Report 报告\n"


def test_the_ids_are_the_same_in_run_json_events_and_both_manifests(finished: tuple[Path, Answer]) -> None:
    root, _ = finished
    names = ("session_id", "task_id", "run_id")
    record = read(root / "run.json")
    for manifest in ("sandbox-manifest.json", "artifact-manifest.json"):
        assert [read(root / manifest)[name] for name in names] == [record[name] for name in names]
    events = events_of(root)
    assert {event["run_id"] for event in events} == {record["run_id"]} == {"demo-001"}
    assert [events[0]["payload"][name] for name in names[:2]] == [record[name] for name in names[:2]]


def test_people_see_one_line_for_each_step_and_where_the_result_is(finished: tuple[Path, Answer]) -> None:
    _, answer = finished
    lines = answer.err.splitlines()
    assert lines[0] == "run demo-001  Write a report 写一份报告 · scripted · isolated workspace"
    assert re.fullmatch(r"  1  file_write workspace/notes.md +\d+ ms", lines[1])
    assert re.fullmatch(r"  2  file_write deliverables/report.md +\d+ ms", lines[2])
    assert re.fullmatch(r" done  1 deliverable +2 steps · .+ · 360 tokens", lines[3])
    assert [line.split() for line in lines[4:]] == [
        ["files", "runs/demo-001"],
        ["show", "kgent", "runs", "show", "demo-001"],
    ]


def test_a_second_run_into_the_same_directory_is_refused_and_changes_nothing(finished: tuple[Path, Answer]) -> None:
    root, _ = finished
    before = tree(root.parents[1])
    answer = run_into(root.parents[1], "./runs/demo-001")
    assert (answer.code, answer.out) == (20, "")
    assert answer.err.startswith(f"error: `{root}` already holds a run\n  kind: run_exists\n  hint: ")
    assert tree(root.parents[1]) == before


def test_a_run_without_its_required_deliverable_has_failed_and_left_a_complete_directory(tmp_path: Path) -> None:
    write_config(tmp_path, say("", write("workspace/report.md")), say("done"), deliverables=REPORT_REQUIRED)
    answer = run_into(tmp_path, "runs/late", program="skills-runtime")
    root = tmp_path / "runs/late"
    record = read(root / "run.json")
    assert (answer.code, answer.out) == (1, "")
    assert (record["status"], record["failure_reason"]) == ("failed", "missing_deliverable: report.md")
    assert " failed  missing_deliverable: report.md " in answer.err
    assert all((root / name).is_file() for name in FILES)
    assert all((root / name).is_dir() for name in DIRECTORIES)


def test_json_is_the_event_log_byte_for_byte_and_stderr_is_silent(tmp_path: Path) -> None:
    write_config(tmp_path, *SCRIPT)
    answer = run_into(tmp_path, "r", "--json", program="skills-runtime-sdk")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.encode() == (tmp_path / "r/events.jsonl").read_bytes()


def test_a_run_goes_on_after_the_reader_of_its_output_has_gone(tmp_path: Path) -> None:
    write_config(tmp_path, *SCRIPT)
    arguments = ("run", "--config", "kgent.yaml", "-p", "x", "--sandbox", "r", "--json")
    with start("kgent", *arguments, cwd=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert read(tmp_path / "r/run.json")["status"] == "completed"


def invoke_into(directory: str, *more: str) -> Answer:
    return invoke("run", "--config", "kgent.yaml", "--prompt", "x", "--sandbox", directory, *more)


def test_two_runs_of_one_session_know_of_each_other(workspace: Path) -> None:
    write_config(workspace, *SCRIPT)
    ids = ("--session-id", "thread", "--task-id", "report", "-q")
    assert invoke_into("first", *ids) == (0, f"{ANSWER}\n", "")
    assert invoke_into("second", *ids) == (0, f"{ANSWER}\n", "")
    session = read(workspace / "second/session.json")
    assert session["session_id"] == "thread"
    assert session["tasks"] == [{"task_id": "report", "runs": ["first", "second"]}]


def test_the_configuration_snapshot_says_what_kgent_presets_and_what_was_set(workspace: Path) -> None:
    write_config(workspace, *SCRIPT)
    assert invoke_into("r", "--set", "run.max_steps=7", "--isolation", "none", "-q").code == 0
    snapshot = yaml.safe_load((workspace / "r/config.yaml").read_text())
    assert snapshot["run"]["max_steps"] == 7
    assert snapshot["sandbox"]["workspace"] == "isolated"
    assert snapshot["sandbox"]["default_policy"] == "none"


@pytest.mark.parametrize("name", NAMES)
def test_a_run_directory_has_its_own_workspace_whatever_the_program_is_called(workspace: Path, name: str) -> None:
    write_config(workspace, *SCRIPT)
    for number, option in enumerate(("--run-dir", "--sandbox")):
        answer = invoke("run", "x", "--config", "kgent.yaml", option, f"r{number}", name=name)
        assert answer.err.startswith(f"run r{number}  x · scripted · isolated workspace\n")
    answer = invoke("run", "x", "--config", "kgent.yaml", name=name)
    assert answer.err.partition("\n")[0].endswith("· shared workspace")


def test_a_run_directory_is_given_once(workspace: Path) -> None:
    answer = invoke("run", "x", "--run-dir", "a", "--sandbox", "b")
    assert (answer.code, "give the directory once" in answer.err) == (2, True)
    assert "--sandbox" not in invoke("run", "--help").out


def test_a_task_can_come_from_stdin(workspace: Path) -> None:
    write_config(workspace, *SCRIPT)
    given = ("run", "--config", "kgent.yaml", "--sandbox", "r", "-q", "--prompt-file", "-")
    assert invoke(*given, stdin="写报告\n".encode()).code == 0
    assert (workspace / "r/prompt.md").read_text() == "写报告\n"


def test_a_call_without_an_approver_fails_the_run_and_names_the_setting(workspace: Path) -> None:
    write_config(workspace, *SCRIPT, safety={"mode": "ask"})
    answer = invoke_into("r")
    assert (answer.code, answer.out) == (1, "")
    assert " failed  `file_write` needs an approval (safety.mode: ask) and no approver is available" in answer.err
    hint = " ".join(answer.err.split())
    assert "hint give the agent an approver" in hint
    assert "(`--approvals inbox`), or allow the call with a rule" in hint
