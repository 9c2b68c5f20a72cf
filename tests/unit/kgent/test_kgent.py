"""The three functions of the seed, with the signatures it prints, over real directories."""

import hashlib
import inspect
import os
import shutil
import signal
from pathlib import Path
from typing import IO, Any

import pytest
import rfc8785
import yaml

import kgent
from kgent import RunContext, RunStatus, create_run_context, load_run_context, resolve_sandbox_path, update_run_state
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.errors import (
    ConfigError,
    IllegalTransition,
    LogCorrupt,
    NotFound,
    PathEscape,
    PolicyDenied,
    RunExists,
    SkillsRuntimeError,
    ValidationFailed,
)
from skills_runtime.runs import RunPaths, read_events, verify_run
from tests.support.children import zygote
from tests.support.runs import decoded
from tests.support.tools import tree


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace, which is the working directory."""
    path = tmp_path / "ws"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def context() -> RunContext:
    """A run at `./runs/demo-001`."""
    return create_run_context({}, "Say hello.", "runs/demo-001")


def _parameters(function: Any) -> dict[str, Any]:
    return {
        name: "required" if parameter.default is parameter.empty else parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }


def test_the_signatures_are_the_ones_of_the_seed() -> None:
    assert _parameters(create_run_context) == {
        "config": "required",
        "prompt": "required",
        "sandbox_path": "required",
        "session_id": None,
        "task_id": None,
        "run_id": None,
    }
    assert _parameters(update_run_state) == {"context": "required", "status": "required"}
    assert _parameters(resolve_sandbox_path) == {"context": "required", "user_path": "required"}
    assert inspect.signature(create_run_context).return_annotation is RunContext
    assert inspect.signature(update_run_state).return_annotation is None
    assert inspect.signature(resolve_sandbox_path).return_annotation is Path
    assert inspect.signature(update_run_state).parameters["failure_reason"].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_module_exports_what_it_promises() -> None:
    assert set(kgent.__all__) == {
        "RunContext", "RunStatus", "create_run_context", "load_run_context", "resolve_sandbox_path", "update_run_state",
    }  # fmt: skip
    assert len(RunStatus) == 9


def test_a_context_alone_is_a_pending_run(context: RunContext, here: Path) -> None:
    assert context.root == here / "runs" / "demo-001"
    assert (context.status, context.record.started_at, context.run_id) == (RunStatus.PENDING, None, "demo-001")
    assert verify_run(context.root, log_ports().keys).findings == []


def test_an_isolated_workspace_is_the_default(context: RunContext) -> None:
    assert decoded((context.root / "sandbox-manifest.json").read_bytes())["sandbox"]["workspace_mode"] == "isolated"


@pytest.mark.parametrize("path", ["odd name", "-x", ".hidden", "ä"])
def test_a_directory_whose_name_is_no_id_gets_a_generated_one(path: str) -> None:
    assert create_run_context({}, "p", f"runs/{path}").run_id.startswith("run_")


def test_ids_that_were_given_are_kept() -> None:
    context = create_run_context({}, "p", "runs/x", "s", "t", "r")
    assert (context.session_id, context.task_id, context.run_id) == ("s", "t", "r")


def test_two_runs_of_one_task_share_its_ids() -> None:
    first = create_run_context({}, "p", "runs/a", session_id="s", task_id="t")
    second = create_run_context({}, "p", "runs/b", session_id="s", task_id="t")
    assert (first.session_id, first.task_id) == (second.session_id, second.task_id)
    assert first.run_id != second.run_id


def test_the_configuration_is_a_mapping_a_file_or_the_path_of_one(here: Path) -> None:
    (here / "kgent.yaml").write_text("run: {max_steps: 7}\n")
    for number, config in enumerate(({"run": {"max_steps": 7}}, "kgent.yaml", here / "kgent.yaml")):
        context = create_run_context(config, "p", f"runs/{number}")
        assert yaml.safe_load((context.root / "config.yaml").read_text())["run"]["max_steps"] == 7


def test_the_snapshot_does_not_follow_the_file(here: Path) -> None:
    (here / "kgent.yaml").write_text("run: {max_steps: 7}\n")
    context = create_run_context("kgent.yaml", "p", "runs/a")
    before = (context.root / "config.yaml").read_bytes()
    (here / "kgent.yaml").write_text("run: {max_steps: 8}\n")
    assert (context.root / "config.yaml").read_bytes() == before
    assert verify_run(context.root, log_ports().keys).ok


def test_the_fingerprint_can_be_computed_independently(context: RunContext) -> None:
    data = yaml.safe_load((context.root / "config.yaml").read_text())
    assert context.config_fingerprint == "sha256:" + hashlib.sha256(rfc8785.dumps(data)).hexdigest()


@pytest.mark.parametrize(
    ("config", "error"),
    [("none.yaml", NotFound), ({"no": "such"}, ConfigError), ({"run": {"max_steps": 2**60}}, SkillsRuntimeError)],
)
def test_a_configuration_that_cannot_be_used_leaves_nothing(here: Path, config: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        create_run_context(config, "p", "runs/a")
    assert not tree(here)


def test_a_second_run_in_the_directory_is_refused(context: RunContext, here: Path) -> None:
    before = tree(here)
    with pytest.raises(RunExists):
        create_run_context({}, "p", "runs/demo-001")
    assert tree(here) == before


def test_a_run_lives_through_its_states(context: RunContext) -> None:
    for status in ("running", RunStatus.WAITING_FOR_USER, "running", "review_required", "revision_required", "running"):
        update_run_state(context, status)
        assert context.status == status
    update_run_state(context, RunStatus.COMPLETED)
    record = context.record
    assert (record.status, record.failure_reason) == ("completed", None)
    assert record.created_at < str(record.started_at) < str(record.completed_at)
    assert verify_run(context.root, log_ports().keys).findings == []


def test_a_failure_has_a_reason(context: RunContext) -> None:
    other = create_run_context({}, "p", "runs/b")
    update_run_state(context, RunStatus.FAILED)
    update_run_state(other, "failed", failure_reason="interrupted")
    assert [run_context.record.failure_reason for run_context in (context, other)] == ["unspecified", "interrupted"]
    assert all(run_context.record.completed_at for run_context in (context, other))


@pytest.mark.parametrize("status", ["completed", "pending", "waiting_for_tool", "revision_required"])
def test_an_illegal_move_leaves_every_byte(context: RunContext, here: Path, status: str) -> None:
    before = tree(here)
    with pytest.raises(IllegalTransition):
        update_run_state(context, status)
    assert tree(here) == before


@pytest.mark.parametrize("status", list(RunStatus))
def test_nothing_follows_the_end(context: RunContext, here: Path, status: RunStatus) -> None:
    update_run_state(context, "cancelled")
    before = tree(here)
    with pytest.raises(IllegalTransition):
        update_run_state(context, status)
    assert tree(here) == before


def test_a_state_that_is_unknown_is_refused(context: RunContext) -> None:
    with pytest.raises(ValidationFailed):
        update_run_state(context, "done")


def test_a_run_whose_snapshot_was_edited_is_not_moved(context: RunContext, here: Path) -> None:
    (context.root / "config.yaml").chmod(0o600)
    (context.root / "config.yaml").write_text("run: {}\n")
    before = tree(here)
    with pytest.raises(LogCorrupt, match=r"config\.yaml"):
        update_run_state(context, "running")
    assert tree(here) == before
    assert not verify_run(context.root, log_ports().keys).ok


def test_a_promise_that_was_not_kept_fails_the_run() -> None:
    context = create_run_context({"deliverables": {"required": ["report.md"]}}, "p", "runs/a")
    update_run_state(context, "running")
    (context.root / "workspace" / "report.md").write_text("x")
    update_run_state(context, "completed")
    assert (context.status, context.record.failure_reason) == (RunStatus.FAILED, "missing_deliverable: report.md")


def test_a_context_is_loaded_from_the_directory_alone(context: RunContext, here: Path) -> None:
    assert load_run_context(context.root) == context
    shutil.move(context.root, here / "moved")
    moved = load_run_context(here / "moved")
    assert moved.run_id == context.run_id
    update_run_state(moved, "running")
    assert verify_run(moved.root, log_ports().keys).findings == []


@pytest.mark.parametrize("directory", ["nowhere", "file", "."])
def test_a_directory_that_is_no_run_is_not_loaded(here: Path, directory: str) -> None:
    (here / "file").touch()
    with pytest.raises((NotFound, SkillsRuntimeError)):
        load_run_context(here / directory)


def run_and_be_killed(say: IO[bytes], hear: IO[bytes], path: str) -> None:
    """Begin to run and wait for the end that comes from outside."""
    os.chdir(path)
    update_run_state(load_run_context("runs/demo-001"), "running")
    say.write(b"running\n")
    hear.readline()


def test_a_run_whose_process_was_killed_is_found_and_ended_by_the_next(context: RunContext, here: Path) -> None:
    with zygote(__name__) as nursery, nursery.child(run_and_be_killed, str(here)) as child:
        assert child.line() == b"running"
        child.send(signal.SIGKILL)
        assert child.join() == -signal.SIGKILL
    run_context = load_run_context(context.root)
    assert run_context.status is RunStatus.RUNNING
    update_run_state(run_context, "failed", failure_reason="interrupted")
    assert (run_context.status, run_context.record.failure_reason) == (RunStatus.FAILED, "interrupted")


@pytest.mark.parametrize("path", ["workspace/a.txt", "deliverables/new/r.md", "prompt.md", ".", "workspace"])
def test_a_path_inside_is_resolved(context: RunContext, path: str) -> None:
    resolved = resolve_sandbox_path(context, path)
    assert isinstance(resolved, Path)
    assert resolved == context.root / path
    assert resolve_sandbox_path(context, str(context.root / path)) == context.root / path


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/passwd", "workspace/../../x", "~", "~/x", "\\..\\x", "", "a\0b", "x" * 5000]
)
def test_a_path_that_leads_out_is_refused_and_recorded(context: RunContext, path: str) -> None:
    with pytest.raises((PathEscape, ValidationFailed)) as caught:
        resolve_sandbox_path(context, path)
    last: Any = list(read_events(RunPaths(context.root)))[-1].payload
    assert (last.op, last.ok, last.error) == ("resolve", False, caught.value.kind)


def test_a_link_or_a_sibling_does_not_lead_out(context: RunContext) -> None:
    sibling = context.root.with_name("demo-001-evil")
    sibling.mkdir()
    (context.root / "workspace" / "out").symlink_to(sibling)
    for path in (str(sibling), str(sibling / "x"), "workspace/out/x"):
        with pytest.raises(PathEscape):
            resolve_sandbox_path(context, path)


@pytest.mark.parametrize("path", ["run.lock", "blobs/x", "logs/x"])
def test_what_is_the_runtime_s_own_is_not_handed_out(context: RunContext, path: str) -> None:
    with pytest.raises(PolicyDenied):
        resolve_sandbox_path(context, path)


def test_a_refusal_stands_also_on_a_machine_that_cannot_record_it(
    context: RunContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    before = tree(context.root)
    with pytest.raises(PathEscape):
        resolve_sandbox_path(context, "../x")
    assert tree(context.root) == before


def test_a_refusal_stands_also_when_the_run_has_ended(context: RunContext) -> None:
    update_run_state(context, "cancelled")
    before = tree(context.root)
    with pytest.raises(PathEscape):
        resolve_sandbox_path(context, "../x")
    assert tree(context.root) == before
