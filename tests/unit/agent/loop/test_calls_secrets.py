"""Secrets and the gate: nothing shows them, and looking for them breaks nothing."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.testing import FakeModel, says
from tests.support.agents import Answering, calls, writes
from tests.unit.safety.approvals.stage import Stage, Yes

SECRET = "kV7-my-secret-Q9Z"
SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
}


def public_files(root: Path) -> dict[str, bytes]:
    """Every file of a run but its private blobs."""
    paths = (path for path in root.rglob("*") if path.is_file() and "blobs" not in path.parts)
    return {path.name: path.read_bytes() for path in paths}


def test_what_is_typed_into_a_terminal_is_not_in_the_result_or_the_call(tmp_path: Path) -> None:
    typed = calls(("write_stdin", {"session_id": 1, "chars": "correct horse battery\n"}))
    stage = Stage(tmp_path, [typed, says("done")])
    stage.work(Yes())
    for kind in ("tool_call_requested", "tool_call_finished"):
        assert "correct horse" not in str(stage.all(kind))


def test_what_is_typed_into_a_terminal_is_not_in_the_request_either(tmp_path: Path) -> None:
    typed = calls(("write_stdin", {"session_id": 1, "chars": "correct horse battery\n"}))
    stage = Stage(tmp_path, [typed, says("done")])
    stage.work()
    assert "correct horse" not in str(stage.all("approval_requested"))


def test_a_short_value_of_a_variable_cannot_be_found_again_by_its_digest(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [calls(("shell_command", {"command": "true", "env": {"PIN": "4711"}})), says("done")])
    stage.work()
    guess = hashlib.sha256(str({"PIN": "4711"}).encode()).hexdigest()
    assert guess not in stage.paths.events.read_text()


def told_with(directory: Path, settings: dict[str, Any], task: str = "Go.") -> tuple[FakeModel, dict[str, bytes]]:
    """What a model was told, and what the run wrote, where the text it starts from holds a secret."""
    stage = Stage(directory, [], settings=settings, variables={"MY_API_TOKEN": SECRET})
    model = FakeModel([says("done")])
    result = stage.agent(backend=model).run(task)
    return model, public_files(Path(result.wal_locator).parent)


def test_a_secret_in_the_system_text_is_neither_reported_nor_written(tmp_path: Path) -> None:
    model, files = told_with(tmp_path, {"prompt": {"system_text": f"The key is {SECRET}."}})
    assert SECRET not in str(model.requests[0].messages)
    assert [name for name, data in files.items() if SECRET.encode() in data] == []


@pytest.mark.parametrize("where", ["description", "body"])
def test_a_secret_in_a_skill_is_neither_reported_nor_written(tmp_path: Path, where: str) -> None:
    skill = tmp_path / "skills" / "writer"
    skill.mkdir(parents=True)
    description, body = (f"Uses {SECRET}.", "Briefly.") if where == "description" else ("Writes.", SECRET)
    (skill / "SKILL.md").write_text(f"---\nname: writer\ndescription: {description}\n---\n\n{body}\n")
    model, files = told_with(tmp_path, {"skills": SKILLS}, "Use $[web:mvp].writer now.")
    assert SECRET not in str(model.requests[0].messages)
    assert [name for name, data in files.items() if SECRET.encode() in data] == []


def test_a_secret_in_a_denial_is_not_reported_to_the_model(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [], variables={"MY_API_TOKEN": SECRET})
    model = FakeModel([calls(("file_read", {"path": f"../{SECRET}"})), says("done")])
    stage.agent(Answering(), backend=model).run("Go.")
    assert SECRET not in str(model.requests[-1].messages[-1])


@pytest.mark.parametrize(
    "secret",
    [
        "workspace",
        "completed",
        "timestamp",
        "run_started",
        "a.txt",
        "approved",
        "file_write",
        "call_id",
        "decision",
        "arguments_blob",
        "approval",
    ],
)
def test_a_password_that_is_an_ordinary_word_does_not_break_a_run(tmp_path: Path, secret: str) -> None:
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), says("done")], variables={"DB_PASSWORD": secret})
    assert stage.work(Yes()).status == "completed"
    assert stage.files() == ["a.txt"]


def test_a_short_password_does_not_break_the_names_of_blobs(tmp_path: Path) -> None:
    digest = hashlib.sha256(json.dumps({"path": "a.txt", "content": "one"}).encode()).hexdigest()
    pieces = (digest[index : index + 4] for index in range(len(digest)))
    short = next(piece for piece in pieces if re.search("[a-f]", piece) and re.search("[0-9]", piece))
    stage = Stage(tmp_path, [calls(writes("a.txt", "one")), says("done")], variables={"DB_PASSWORD": short})
    assert stage.work(Yes()).status == "completed"
    assert stage.files() == ["a.txt"]


def test_a_password_that_is_part_of_the_workspace_does_not_lose_sub_agents(tmp_path: Path) -> None:
    file_path = tmp_path / "myproject1"
    file_path.mkdir()
    script = [calls(("spawn_agent", {"message": "child"}), ids=["s"]), says("from the child")]
    stage = Stage(file_path, script, variables={"DB_PASSWORD": "myproject1"})
    stage.agent(mode="allow").run("Go.")
    roots = [root for path in file_path.rglob("events.jsonl") for root in _started(path)]
    assert roots
    assert all("/myproject1/" in root for root in roots)


def _started(path: Path) -> list[str]:
    events = map(json.loads, path.read_text().splitlines())
    return [event["payload"]["root"] for event in events if event["type"] == "child_run_started"]
