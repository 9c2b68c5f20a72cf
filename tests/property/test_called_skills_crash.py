"""A run that begins others for the skills of its task, killed at every moment: each is begun once, and all is told."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent
from skills_runtime.agent.loop.control import Control
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.errors import LogEnded
from skills_runtime.events import Event
from skills_runtime.llm import FakeChatCall
from skills_runtime.ports import ChatRequest, ChatStreamEvent, ToolContext, ToolResult
from skills_runtime.runs import RunPaths, read_events, runs_root, verify_run
from skills_runtime.testing import says
from tests.support.agents import Doing, calls, payloads_of
from tests.support.events import check_request
from tests.support.runs import resumes_in, story_of
from tests.unit.skills.samples import make_skill, skill_text

RUN_ID = "run_1"
TASK = "Use $research and $deploy."
SETTINGS = {
    "safety": {"mode": "allow"},
    "skills": {
        "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
        "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
        "discovery": {"enabled": False},
    },
}
SCRIPTS = {
    "research": [calls(("append", {"line": "one"})), says("found it")],
    "deploy": [says("it is out")],
    "person": [calls(("append", {"line": "two"})), says("done")],
}
Moment = Callable[[str], None]


def passes(name: str) -> None:
    """A moment at which nothing happens."""


class Models:
    """A model that answers each run from its script, and says when it was asked."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self.requests: list[tuple[str, ChatRequest]] = []

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[ChatStreamEvent]:
        """Stream the answer this point of the run calls for."""
        check_request(request)
        text = str([message["content"] for message in request.messages if message["role"] == "user"])
        name = next((one for one in SCRIPTS if f"TEXT OF {one.upper()}" in text), "person")
        self.requests.append((name, request))
        self._moment(f"asked for {name}")
        script: list[FakeChatCall] = SCRIPTS[name]
        for event in script[request.answered].events:
            yield event


class World:
    """Everything that outlives a process."""

    def __init__(self, directory: Path) -> None:
        self.workspace, self.effects = directory / "workspace", directory / "effects.txt"
        self.paths = RunPaths(runs_root(self.workspace) / RUN_ID)
        for name in ("research", "deploy"):
            text = skill_text(name, extra="context: fork\n", body=f"TEXT OF {name.upper()}\n")
            if not (self.workspace / "skills" / name).exists():
                make_skill(self.workspace / "skills", name, text=text)

    def agent(self, models: Models, moment: Moment = passes) -> Agent:
        """A fresh agent, as a new process would make it."""

        def happened(event: Event) -> None:
            moment(event.type)

        async def append(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
            moment("before append")
            with self.effects.open("a") as file:
                file.write(f"{arguments['line']}\n")
            moment("after append")
            return ToolResult(ok=True, stdout="appended")

        agent = Agent(workspace_root=self.workspace, backend=models, session_settings=SETTINGS, event_hooks=[happened])
        agent.register_tool(Doing(append, name="append"))
        return agent

    def go_on(self, moment: Moment = passes) -> Models:
        """Work on the run until it has ended."""
        models = Models(moment)
        try:
            result = self.agent(models, moment).run(TASK, run_id=RUN_ID)
        except LogEnded:
            return models
        assert result.status == "completed", result
        return models


def test_a_run_killed_at_any_moment_begins_each_child_once_and_goes_on_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    path, copies = tmp_path / "whole", list[Path]()
    monkeypatch.setenv("XDG_STATE_HOME", str(path / "state"))

    def keep(name: str) -> None:
        copies.append(tmp_path / f"{len(copies)} {name}")
        shutil.copytree(path, copies[-1], symlinks=True)

    World(path).go_on(keep)
    names = {copy.name.partition(" ")[2] for copy in copies}
    assert {"child_run_started", "child_run_finished", "asked for research", "after append"} <= names
    for copy in copies:  # put back where it was, for a log says where the children are
        shutil.rmtree(path)
        copy.rename(path)
        with subtests.test(copy.name):
            _check(World(path))


def _check(world: World) -> None:
    world.go_on()

    def payloads(event_type: str) -> list[Any]:
        return payloads_of(str(world.paths.events), event_type)

    children = {payload.child_run_id for payload in payloads("child_run_started")}
    run_ids = {path.name for path in runs_root(world.workspace).iterdir()}
    assert run_ids == children | {RUN_ID}
    assert len(children) == 2
    assert [request.tool for request in payloads("tool_call_requested")].count("activate_skill") == 2
    results = [str(payload.result) for payload in payloads("tool_call_finished")]
    assert ["found it" in results[0], "it is out" in results[1]] == [True, True]
    assert Counter(world.effects.read_text().split()).most_common(1)[0][1] == 1, "no effect happens twice"
    for name in run_ids:
        assert verify_run(runs_root(world.workspace) / name, log_ports().keys).findings == []


@pytest.mark.parametrize("every", [1, 2])
def test_a_run_that_is_stopped_at_every_boundary_writes_the_same_log(
    tmp_path: Path, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.TASK", "/research the sea")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    straight, stopped, stops = World(tmp_path / "one"), World(tmp_path / "two"), 0
    straight.go_on()
    run = stopped.agent(Models(passes)).create(RunRequest(prompt=TASK, run_id=RUN_ID))
    while True:
        control = _stopping(run.log.listen, every)
        result = asyncio.run(stopped.agent(Models(passes)).execute(run, control=control))
        if result.status != "paused":
            break
        stops += 1
        run = stopped.agent(Models(passes)).resume(stopped.paths.root)
    events, other = list(read_events(straight.paths)), list(read_events(stopped.paths))
    assert stops > 1
    assert [_without_place(line, tmp_path) for line in story_of(other)] == [
        _without_place(line, tmp_path) for line in story_of(events)
    ]
    assert resumes_in(other) == stops


def _stopping(listen: Callable[[Callable[[Event], None]], Any], every: int) -> Control:
    control, left = Control(), every

    def watch(event: Event) -> None:
        nonlocal left
        if event.type in ("llm_response_finished", "tool_call_finished"):
            left -= 1
            control.yielding = control.yielding or left == 0

    listen(watch)
    return control


def _without_place(line: str, directory: Path) -> str:
    return line.replace(str(directory / "one"), "").replace(str(directory / "two"), "")
