"""The commands that look at runs which are there: list, show, tail, transcript, export, metrics."""

import json
import tarfile
from pathlib import Path

import pytest

from skills_runtime.agent import Agent
from tests.e2e.cli.programs import Answer, invoke, say, write, write_config

SCRIPT = (say("", write("deliverables/report.md", "# 报告\n")), say("All is well. 一切正常。"))


def make_run(name: str, *more: str, prompt: str = "Write a report") -> None:
    answer = invoke("run", "-p", prompt, "--config", "kgent.yaml", "--sandbox", f"runs/{name}", "-q", *more)
    assert answer.code == 0, answer.err


@pytest.fixture
def three(workspace: Path) -> Path:
    """Three runs in two sessions; the last one failed."""
    write_config(workspace, *SCRIPT)
    make_run("alpha", "--session-id", "s1", "--task-id", "t1", prompt="Count the apples 数苹果")
    make_run("beta", "--session-id", "s1", "--task-id", "t2", prompt="Count the pears")
    write_config(workspace, say("nothing"), deliverables={"required": ["x.md"]})
    failed = invoke("run", "Sell the plums", "--config", "kgent.yaml", "--run-id", "gamma", "--session-id", "s2", "-q")
    assert failed.code == 1
    return workspace


def names(answer: Answer) -> list[str]:
    """The first words of the lines below the heading."""
    assert answer.code == 0, answer.err
    return [line.split()[0] for line in answer.out.splitlines()[1:]]


def test_runs_are_listed_newest_first_with_symbol_word_title_time_and_tokens(three: Path) -> None:
    answer = invoke("runs", "list")
    assert names(answer) == ["gamma", "beta", "alpha"]
    heading, gamma, _, alpha = answer.out.splitlines()
    assert heading.split() == ["run", "status", "task", "started", "time", "tokens"]
    assert gamma.split()[:6] == ["gamma", "✗", "failed", "Sell", "the", "plums"]
    assert alpha.split()[:7] == ["alpha", "✓", "completed", "Count", "the", "apples", "数苹果"]
    assert alpha.split()[-1] == "240"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (("--status", "failed"), ["gamma"]),
        (("--search", "苹果"), ["alpha"]),
        (("--search", "count", "--limit", "1"), ["beta"]),
        (("--search", "well", "--status", "completed"), ["beta", "alpha"]),
        (("--limit", "2"), ["gamma", "beta"]),
    ],
)
def test_a_list_can_be_filtered(three: Path, filters: tuple[str, ...], found: list[str]) -> None:
    assert names(invoke("ls", *filters)) == found


def test_the_runs_of_a_session_are_listed_task_by_task(three: Path) -> None:
    lines = invoke("ls", "--session", "s1").out.splitlines()
    assert [line for line in lines if line.startswith("task")] == ["task t2  1 run", "task t1  1 run"]
    assert [line.split()[0] for line in lines] == ["task", "run", "beta", "task", "run", "alpha"]


def test_a_list_for_programs_is_one_object_a_line(three: Path) -> None:
    rows = [json.loads(line) for line in invoke("runs", "list", "--json").out.splitlines()]
    assert [(row["run_id"], row["status"]) for row in rows] == [
        ("gamma", "failed"),
        ("beta", "completed"),
        ("alpha", "completed"),
    ]
    assert rows[2]["path"] == str(three / "runs/alpha")


def test_a_run_made_with_the_python_api_is_listed_too(workspace: Path) -> None:
    config = write_config(workspace, *SCRIPT)
    Agent(workspace_root=workspace, config_paths=[config]).run("From Python", run_id="from-python")
    assert names(invoke("runs", "list")) == ["from-python"]


def test_other_workspaces_are_listed_only_when_asked_for(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = three.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    answer = invoke("runs", "list")
    assert (answer.code, answer.out) == (0, "")
    assert "no runs found; `kgent demo` creates one" in answer.err
    assert names(invoke("runs", "list", "--all")) == ["gamma", "beta", "alpha"]


def test_a_run_that_cannot_be_read_is_mentioned_beside_the_list(three: Path) -> None:
    (three / "runs/beta/events.jsonl").write_text("nonsense\n")
    answer = invoke("runs", "list")
    assert "gamma" in names(answer)
    assert "notice: 1 run could not be read; `kgent ledger rebuild` shows why" in answer.err


@pytest.mark.parametrize("reference", ["alpha", "alph", "runs/alpha", "./runs/alpha/", "runs/alpha/events.jsonl"])
def test_a_run_is_found_by_path_id_or_the_beginning_of_its_id(three: Path, reference: str) -> None:
    answer = invoke("runs", "show", reference)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("run alpha  ✓ completed\n")


def test_a_run_is_found_from_another_directory_by_its_id(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(three.parent)
    assert invoke("runs", "show", "alph").out.startswith("run alpha ")


def test_the_short_form_of_a_generated_id_is_enough(workspace: Path) -> None:
    write_config(workspace, *SCRIPT)
    assert invoke("run", "x", "--config", "kgent.yaml", "-q").code == 0
    (short,) = names(invoke("ls"))
    assert len(short) == 12
    assert invoke("runs", "show", short).out.startswith(f"run run_{short}")


def test_a_beginning_that_fits_two_runs_names_them(three: Path) -> None:
    write_config(three, *SCRIPT)
    make_run("alphabet")
    answer = invoke("runs", "show", "alph")
    assert answer.code == 20
    assert "several runs begin with `alph`: `alpha`, `alphabet`" in answer.err


def test_show_tells_state_steps_files_and_what_to_do_next(three: Path) -> None:
    page = invoke("runs", "show", "alpha").out
    words = [" ".join(line.split()) for line in page.splitlines()]
    assert "task Count the apples 数苹果" in words
    assert "session s1 · task t1" in words
    assert "directory runs/alpha" in words
    assert "workspace isolated: tools work in the run's own directory" in words
    assert not [line for line in page.splitlines() if line != line.rstrip()]
    assert any(line.startswith("1 file_write deliverables/report.md") for line in words)
    assert "deliverables/report.md 9 B" in words
    assert words[-3:] == [
        "read kgent runs transcript alpha",
        "verify kgent runs verify alpha",
        "export kgent runs export alpha",
    ]


def test_show_tells_why_a_run_failed(three: Path) -> None:
    assert "reason      missing_deliverable: x.md" in invoke("runs", "show", "gamma").out


def test_show_for_programs_is_run_json_with_metrics(three: Path) -> None:
    shown = json.loads(invoke("runs", "show", "alpha", "--json").out)
    record = json.loads((three / "runs/alpha/run.json").read_text())
    assert {name: shown[name] for name in record} == record
    assert shown["metrics"] == json.loads(invoke("runs", "metrics", "alpha").out)


def test_show_says_when_the_log_cannot_be_believed(three: Path) -> None:
    log = three / "runs/alpha/events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:-1], lines[-1].replace(b"run_completed", b"run_cancelled")]))
    answer = invoke("runs", "show", "alpha")
    assert answer.out.startswith("run alpha  ▸ running")
    assert "parts of this log could not be verified; `kgent runs verify` shows why" in answer.err


def test_tail_for_programs_is_the_log_from_the_line_asked_for(three: Path) -> None:
    log = (three / "runs/alpha/events.jsonl").read_bytes()
    assert invoke("runs", "tail", "alpha", "--json").out.encode() == log
    rest = b"".join(log.splitlines(keepends=True)[3:])
    assert invoke("runs", "tail", "alpha", "--json", "--from", "3").out.encode() == rest
    assert invoke("runs", "tail", "alpha", "--json", "--from", "3", "--follow").out.encode() == rest


def test_tail_for_people_is_one_line_an_event(three: Path) -> None:
    lines = [line.split() for line in invoke("runs", "tail", "alpha").out.splitlines()]
    assert [int(line[0]) for line in lines] == list(range(len(lines)))
    assert lines[-1][2:] == ["run_completed", "All", "is", "well.", "一切正常。"]
    assert ["file_operation", "write", "deliverables/report.md"] in [line[2:] for line in lines]


def test_the_transcript_is_the_one_on_disk(three: Path) -> None:
    answer = invoke("runs", "transcript", "alpha")
    assert (answer.code, answer.out) == (0, (three / "runs/alpha/transcript.md").read_text())
    assert invoke("runs", "transcript", "alpha", "--check") == (0, "the transcript matches the log\n", "")


def test_a_transcript_that_is_gone_is_noticed(three: Path) -> None:
    (three / "runs/alpha/transcript.md").unlink()
    assert invoke("runs", "transcript", "alpha", "--check").code == 20


def test_a_transcript_that_was_changed_is_noticed(three: Path) -> None:
    with (three / "runs/alpha/transcript.md").open("a") as file:
        file.write("And they lived happily ever after.\n")
    assert invoke("runs", "transcript", "alpha", "--check") == (20, "the transcript does not match the log\n", "")


def test_export_writes_checksums_provenance_and_an_archive(three: Path) -> None:
    answer = invoke("runs", "export", "alpha", "--output", "alpha.tar.gz")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "runs/alpha/archive/SHA256SUMS",
        "runs/alpha/archive/provenance.intoto.json",
        "alpha.tar.gz",
    ]
    with tarfile.open("alpha.tar.gz") as archive:
        packed = archive.getnames()
    assert "alpha/events.jsonl" in packed
    assert not [name for name in packed if name.startswith("alpha/blobs/")]


def test_metrics_are_found_by_id_and_by_locator(three: Path) -> None:
    by_id = invoke("runs", "metrics", "--run-id", "alpha")
    by_locator = invoke("runs", "metrics", "--wal-locator", "runs/alpha/events.jsonl")
    assert by_id == by_locator
    summary = json.loads(by_id.out)
    assert (summary["run_id"], summary["counts"]["tool_calls_total"]) == ("alpha", 1)
    assert summary["llm"]["total_tokens_total"] == 240
