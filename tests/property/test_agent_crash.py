"""An agent killed at every moment of its run: each effect happens at most once, or the model is told the truth."""

import json
import shutil
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skills_runtime.agent.run_ports import log_ports
from skills_runtime.events import TERMINAL_TYPES, Event
from skills_runtime.runs import read_events, read_record, verify_run
from skills_runtime.testing import FakeModel
from tests.support.children import Zygote, zygote
from tests.support.crashes import CALLS, CONTENT, CRASH_RUN_ID, SCRIPT, STEERS, World, die_at, lines_in, moments_of
from tests.support.events import check_request
from tests.support.runs import lines_of

KILLED = {
    "inbox_received",
    "tool_call_started",
    "tool_call_finished",
    "human_request",
    "human_response",
    "run_waiting_human",
    "answered",
    "artifact_manifest_written",
    "run_completed",
    "before append",
    "after append",
    "before charge",
    "after charge",
}
"""Moments at which a real process is killed: commit points, and both sides of each effect."""


class Moment(NamedTuple):
    """What the disk held when something had just happened."""

    name: str
    directory: Path


class Whole(NamedTuple):
    """One run from its beginning to its end, and every moment of it."""

    moments: list[Moment]
    requests: FakeModel
    directory: Path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    path, copies = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("moments")
    moments: list[Moment] = []

    def keep(name: str) -> None:
        moments.append(Moment(name, copies / f"{len(moments)} {name}"))
        shutil.copytree(path, moments[-1].directory, symlinks=True)

    requests = FakeModel(SCRIPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(path / "state"))
        World(path).go_on(requests, keep)
    yield Whole(moments, requests, path)
    shutil.rmtree(copies)


@pytest.fixture(scope="module")
def nursery() -> Generator[Zygote]:
    with zygote("tests.support.crashes") as nursery:
        yield nursery


def test_every_request_of_a_run_that_is_not_disturbed_keeps_the_rules_of_providers(whole: Whole) -> None:
    assert len(whole.requests.requests) == len(SCRIPT)
    for request in whole.requests.requests:
        check_request(request)


def test_a_run_killed_after_any_event_or_around_any_effect_goes_on_to_its_end(
    whole: Whole, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for number, moment in enumerate(whole.moments):
        with subtests.test(moment.directory.name), pytest.MonkeyPatch.context() as patch:
            _resumed(_copy(moment, tmp_path / str(number)), patch)


def test_a_run_killed_while_an_event_is_written_goes_on_to_its_end(
    whole: Whole, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for number, moment in enumerate(whole.moments):
        if number % 3 or moment.name.startswith(("before", "after", "answered")):
            continue
        path = _copy(moment, tmp_path / str(number))
        log = World(path).paths.events
        lines = lines_of(World(path).paths)
        log.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
        with subtests.test(moment.directory.name), pytest.MonkeyPatch.context() as patch:
            _resumed(path, patch)


@pytest.mark.parametrize("line_count", [1, 2])
def test_a_run_killed_before_its_first_segment_is_worked_on(whole: Whole, tmp_path: Path, line_count: int) -> None:
    path = _copy(whole.moments[0], tmp_path / "copy")
    log = World(path).paths.events
    log.write_bytes(b"".join(lines_of(World(path).paths)[:line_count]))
    with pytest.MonkeyPatch.context() as patch:
        _resumed(path, patch)


@pytest.mark.slow
def test_a_process_that_is_really_killed_leaves_a_run_that_goes_on_to_its_end(
    nursery: Zygote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    (tmp_path / "whole").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "whole" / "state"))
    names = moments_of(tmp_path / "whole", FakeModel(SCRIPT))
    for number, name in _sample(names):
        path = tmp_path / str(number)
        path.mkdir()
        with nursery.child(die_at, path, number) as child:
            code = child.join()
        with subtests.test(f"{number} {name}"), pytest.MonkeyPatch.context() as patch:
            assert code == -9, child.hear.read().decode()
            _resumed(path, patch)


def test_a_run_killed_again_and_again_goes_on_to_its_end(nursery: Zygote, tmp_path: Path) -> None:
    """Each process gets a little further than the one before, so that most moments are died at twice."""
    deaths = 0
    for number in range(3, 60, 8):
        with nursery.child(die_at, tmp_path, number) as child:
            deaths += child.join() == -9
    assert deaths > 3
    with pytest.MonkeyPatch.context() as patch:
        _resumed(tmp_path, patch)


def _sample(names: list[str]) -> Iterator[tuple[int, str]]:
    """Moments of every name at which it matters, those around effects all, of the others the first and the last."""
    for number, name in enumerate(names):
        ends = name not in names[:number] or name not in names[number + 1 :]
        if name in KILLED and (ends or name.startswith(("before", "after"))):
            yield number, name


def _copy(moment: Moment, directory: Path) -> Path:
    shutil.copytree(moment.directory, directory, symlinks=True)
    return directory


def _resumed(directory: Path, patch: pytest.MonkeyPatch) -> None:
    """Go on with what a killed process left, and check everything that can be known about the whole run."""
    patch.setenv("XDG_STATE_HOME", str(directory / "state"))
    world, watched = World(directory), FakeModel(SCRIPT)
    world.go_on(watched)
    events = list(read_events(world.paths))
    for request in watched.requests:
        check_request(request)
        assert request.messages[1] == {"role": "user", "content": "Go."}, "the task is never lost"
    assert verify_run(world.paths.root, log_ports().keys).findings == []
    assert read_record(world.paths.run_json).status == "completed"
    _check_log(events)
    _check_effects(world, events)
    _check_people(world, events)
    shutil.rmtree(directory)


def _check_log(events: list[Event]) -> None:
    """Nothing is numbered twice, and nothing follows the end."""
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.type for event in events if event.type in TERMINAL_TYPES] == ["run_completed"]
    assert events[-1].type == "run_completed"
    turns = [event.turn_id for event in events if event.type == "llm_request_started"]
    steps = [event.step_id for event in events if event.type == "tool_call_requested"]
    assert len(set(turns)) == len(turns)
    assert len(set(steps)) == len(steps)
    finished = Counter(event.step_id for event in events if event.type == "tool_call_finished")
    assert set(finished.values()) == {1}
    assert len(finished) == CALLS
    started: list[Any] = [event for event in events if event.type == "tool_call_started"]
    keys = {(event.step_id, event.payload.idempotency_key) for event in started}
    assert len({step for step, _ in keys}) == len(keys), "a call that is tried again keeps its key"
    assert len({key for _, key in keys}) == len(keys), "no two calls have one key"


def _results(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    """The tool and the result of each call, in the order in which the model made them."""
    finished: list[Any] = [event for event in events if event.type == "tool_call_finished"]
    ordered = sorted(finished, key=lambda event: int(event.step_id.rpartition("_")[2]))
    return [(event.payload.tool, event.payload.result) for event in ordered]


def _check_effects(world: World, events: list[Event]) -> None:
    done = Counter(lines_in(world.effects))
    assert set(done) <= {"one", "two", "three"}
    appended = [result for tool, result in _results(events) if tool == "append"]
    for line, result in zip(("one", "two", "three"), appended, strict=True):
        if result["ok"]:
            assert done[line] == 1
        else:
            assert result["stderr"].startswith("outcome unknown")
            assert done[line] <= 1
    assert sum(not result["ok"] for result in appended) <= _deaths(events)
    assert lines_in(world.charges) == [f"{CRASH_RUN_ID} same 3"], "a tool that can look does so"
    assert (world.workspace / "a.txt").read_text() == CONTENT
    assert (world.paths.deliverables / "report.md").read_text() == "# Report"


def _deaths(events: list[Event]) -> int:
    return max(event.epoch for event in events)


def _check_people(world: World, events: list[Event]) -> None:
    received: list[Any] = [event.payload for event in events if event.type == "inbox_received"]
    assert [payload.body.get("text", payload.body.get("answer")) for payload in received] == [*STEERS, "blue"]
    assert [payload.position for payload in received] == [1, 2, 3]
    with world.inbox() as inbox:
        assert inbox.unacknowledged_count(CRASH_RUN_ID) == 0
    counts = Counter(event.type for event in events)
    assert (counts["human_request"], counts["human_response"]) == (1, 1)
    answers = [result for tool, result in _results(events) if tool == "ask_human"]
    assert [json.dumps(answer["data"]) for answer in answers] == ['{"answer": "blue"}']
