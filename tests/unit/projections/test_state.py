"""The state of a run, as its events tell it."""

from itertools import count

import pytest

from skills_runtime.events import Payload
from skills_runtime.events.payloads import (
    ArtifactManifestWritten,
    Descriptor,
    InboxReceived,
    LlmRequestStarted,
    LlmUsage,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunFailed,
    RunStarted,
    RunStateChanged,
    RunWaitingHuman,
    SandboxCreated,
    ToolCallRequested,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.projections import RunState, fold
from tests.support.events import numbered

BORN = RunCreated(
    schema="skills-runtime.log/v1",
    key_id="k",
    session_id="s",
    task_id="t",
    profile_id="p",
    config_fingerprint="sha256:0",
    snapshots=[Descriptor(name="prompt.md", sha256="1" * 64, size=1)],
)
FENCED = SandboxCreated(
    workspace_mode="isolated", manifest=Descriptor(name="sandbox-manifest.json", sha256="2" * 64, size=2)
)
RUNNING = RunStateChanged(before="pending", after="running")
ANEW = RunStarted(task="do it")


def _state(*payloads: Payload) -> RunState:
    return fold(numbered(payloads), RunState())


def test_a_new_run_is_pending_and_has_its_identity() -> None:
    state = _state(BORN, FENCED)
    assert (state.run_id, state.session_id, state.task_id, state.profile_id) == ("run_test", "s", "t", "p")
    assert (state.status, state.started_at, state.completed_at) == (RunStatus.PENDING, None, None)
    assert state.snapshots == {"prompt.md": "1" * 64, "sandbox-manifest.json": "2" * 64}
    assert (state.last_seq, state.last_mac, state.epoch) == (1, f"{1:032x}", 1)


def test_a_run_started_when_it_first_ran_however_often_it_went_on() -> None:
    waiting = RunStateChanged(before="running", after="waiting_for_user")
    state = _state(BORN, FENCED, RUNNING, ANEW, waiting, RUNNING, ANEW)
    assert state.started_at == "2026-01-01T00:00:02Z"
    assert state.status is RunStatus.RUNNING


@pytest.mark.parametrize(
    ("end", "status", "reason"),
    [
        (RunCompleted(final_output="done"), RunStatus.COMPLETED, None),
        (RunFailed(error_kind="auth_error", message="no key"), RunStatus.FAILED, "no key"),
        (RunCancelled(message="enough"), RunStatus.CANCELLED, "enough"),
    ],
)
def test_an_end_has_a_time_and_a_reason(end: Payload, status: RunStatus, reason: str | None) -> None:
    state = _state(BORN, RUNNING, end)
    assert (state.status, state.completed_at, state.failure_reason) == (status, "2026-01-01T00:00:02Z", reason)
    assert not state.open


def test_a_run_that_waits_for_a_person_is_open() -> None:
    state = _state(BORN, RUNNING, RunWaitingHuman(message="?"))
    assert (state.status, state.open, state.completed_at) == (RunStatus.WAITING_FOR_USER, True, None)


def test_a_state_of_a_later_version_changes_nothing() -> None:
    assert _state(BORN, RUNNING, RunStateChanged(before="running", after="dreaming")).status is RunStatus.RUNNING


def test_turns_tokens_and_messages_are_counted() -> None:
    request_started = LlmRequestStarted(model="m")
    usage = LlmUsage(model="m", input_tokens=5, output_tokens=2, cached_tokens=1)
    received = [InboxReceived(message_id=f"m{n}", position=n, kind="steer") for n in (2, 1)]
    state = _state(BORN, request_started, usage, request_started, usage, *received)
    assert (state.turns, state.input_tokens, state.output_tokens, state.cached_tokens) == (2, 10, 4, 2)
    assert (state.model, state.inbox_position) == ("m", 2)


def test_steps_never_go_back() -> None:
    calls = [ToolCallRequested(call_id=f"c{n}", tool="t", name="t") for n in range(3)]
    numbers = iter(["step_1", "step_7", "step_2"])
    state = fold(numbered(calls, step_ids=dict(zip(count(), numbers, strict=False))), RunState())
    assert (state.tool_calls, state.steps) == (3, 7)


def test_the_last_manifest_is_the_one_that_counts() -> None:
    manifests = [
        ArtifactManifestWritten(manifest=Descriptor(name="m", sha256=digit * 64, size=1), artifacts=0) for digit in "ab"
    ]
    assert _state(BORN, *manifests).manifest_sha256 == "b" * 64


def test_a_log_of_version_0_begins_with_the_start() -> None:
    state = _state(ANEW)
    assert (state.run_id, state.created_at, state.status) == ("run_test", "2026-01-01T00:00:00Z", RunStatus.RUNNING)
