"""verify and ledger rebuild: what they find, and what they say of it."""

import json
import shutil
from pathlib import Path

import pytest

from skills_runtime.config import state_home
from skills_runtime.runs.log.chain import Chain
from tests.e2e.cli.programs import invoke, say, tree, write, write_config


@pytest.fixture
def root(workspace: Path) -> Path:
    """The directory of a completed run."""
    write_config(workspace, say("", write("deliverables/report.md")), say("done"))
    assert invoke("run", "Report", "--config", "kgent.yaml", "--sandbox", "runs/one", "-q").code == 0
    return workspace / "runs/one"


def change_line(root: Path, number: int, old: bytes, new: bytes) -> None:
    log = root / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    assert old in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(old, new)
    log.write_bytes(b"".join(lines))


def test_an_untouched_run_is_verified_and_not_changed(root: Path) -> None:
    before = tree(root)
    answer = invoke("verify", "one")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"✓ verified: {len((root / 'events.jsonl').read_bytes().splitlines())} events, authentic\n"
    assert tree(root) == before


def test_a_changed_line_is_named(root: Path) -> None:
    change_line(root, 5, b"llm_request_started", b"llm_request_startet")
    answer = invoke("runs", "verify", "runs/one")
    assert answer.code == 20
    assert "✗ events.jsonl  line 5 of the log was changed, or was written without the key\n" in answer.out


def test_every_changed_file_is_named(root: Path) -> None:
    (root / "deliverables/report.md").write_text("better\n")
    (root / "prompt.md").chmod(0o600)
    (root / "prompt.md").write_text("another task\n")
    answer = invoke("verify", "runs/one")
    assert answer.code == 20
    assert "✗ prompt.md  " in answer.out
    assert "✗ deliverables/report.md  " in answer.out
    assert answer.out.endswith("✗ not verified: 2 findings\n")


def test_a_log_that_was_cut_is_noticed_because_the_ledger_saw_it_longer(root: Path) -> None:
    log = root / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-2]))
    answer = invoke("verify", "runs/one", "--json")
    assert answer.code == 20
    assert "log_cut" in [finding["code"] for finding in json.loads(answer.out)["findings"]]


def test_a_run_without_its_key_is_not_authenticated(root: Path) -> None:
    shutil.rmtree(state_home())
    answer = invoke("verify", "runs/one")
    assert answer.code == 28
    assert "note: events.jsonl  not authenticated: the key " in answer.out
    assert "? not authenticated: " in answer.out
    assert "`--unauthenticated` accepts it" in answer.err


def test_a_run_without_its_key_is_accepted_on_request(root: Path) -> None:
    shutil.rmtree(state_home())
    answer = invoke("verify", "runs/one", "--unauthenticated", "--json")
    assert answer.code == 0
    told = json.loads(answer.out)
    assert (told["ok"], told["authentic"], told["outcome"]) == (True, False, "not_authenticated")


def test_a_changed_run_is_not_accepted_without_its_key(root: Path) -> None:
    shutil.rmtree(state_home())
    (root / "deliverables/report.md").write_text("better\n")
    assert invoke("verify", "runs/one", "--unauthenticated").code == 20


def _sealed_by_another_key(root: Path, run_id: str) -> None:
    """Put a log in the place of the run's that has as many events, names a run, and is sealed with a key of its own."""
    log, chain = root / "events.jsonl", Chain(b"another key".ljust(32))
    lines: list[bytes] = []
    for line in log.read_bytes().splitlines():
        event = json.loads(line) | {"run_id": run_id}
        del event["mac"]
        if event["type"] == "run_created":
            event["payload"]["key_id"] = "f" * 16
        body = json.dumps(event, separators=(",", ":")).encode().removesuffix(b"}")
        lines.append(b'%b,"mac":"%b"}\n' % (body, chain.seal(body)))
    log.write_bytes(b"".join(lines))


@pytest.mark.parametrize("run_id", ["one", "another"])
def test_a_log_that_was_replaced_is_noticed_because_the_ledger_saw_another(root: Path, run_id: str) -> None:
    _sealed_by_another_key(root, run_id)
    for _ in range(2):
        answer = invoke("verify", "runs/one", "--unauthenticated", "--json")
        assert answer.code == 20
        assert "log_replaced" in [finding["code"] for finding in json.loads(answer.out)["findings"]]
        invoke("runs", "list")  # looks at the directory, and must not take the new log for the one it saw


def test_a_ledger_that_was_lost_is_derived_from_the_runs_again(root: Path) -> None:
    for path in state_home().glob("ledger.db*"):
        path.unlink()
    assert invoke("ledger", "rebuild", "runs") == (0, "1 run known, 0 gone\n", "")
    assert invoke("ledger", "rebuild") == (0, "1 run known, 0 gone\n", "")


def test_a_rebuild_tells_of_runs_it_could_not_read_and_not_of_other_directories(root: Path) -> None:
    shutil.copytree(root, root.parent / "two")
    (root.parent / "notes").mkdir()
    answer = invoke("ledger", "rebuild", "runs")
    assert (answer.code, answer.out) == (20, "1 run known, 0 gone\n")
    (line,) = answer.err.splitlines()
    assert line == "validation: `two` holds the run `one`"


def test_a_run_that_is_gone_is_dropped_from_the_list(root: Path) -> None:
    shutil.rmtree(root)
    assert invoke("ledger", "rebuild").out == "0 runs known, 1 gone\n"


def test_a_directory_name_that_is_taken_elsewhere_gets_an_id_of_its_own(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = root.parents[2] / "elsewhere"
    elsewhere.mkdir()
    write_config(elsewhere, say("done"))
    monkeypatch.chdir(elsewhere)
    answer = invoke("run", "Report", "--config", "kgent.yaml", "--sandbox", "runs/one")
    assert answer.code == 0
    assert answer.err.startswith(f"notice: the id `one` names a run at `{root}`, so this run is `run_")
    assert json.loads((elsewhere / "runs/one/run.json").read_text())["run_id"].startswith("run_")


def test_a_run_id_that_is_taken_elsewhere_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = root.parents[2] / "elsewhere"
    elsewhere.mkdir()
    write_config(elsewhere, say("done"))
    monkeypatch.chdir(elsewhere)
    before = tree(elsewhere)
    answer = invoke("run", "Report", "--config", "kgent.yaml", "--run-id", "one")
    assert answer.code == 20
    assert f"error: the run id `one` names a run at `{root}`\n  kind: run_exists\n" in answer.err
    assert tree(elsewhere) == before


def test_a_file_that_nothing_lists_is_named(root: Path) -> None:
    (root / "deliverables/extra.sh").write_text("planted\n")
    answer = invoke("verify", "runs/one")
    assert answer.code == 20
    assert "✗ deliverables/extra.sh  neither the manifest nor the log lists this file\n" in answer.out
