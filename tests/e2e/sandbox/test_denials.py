"""What is said of commands that really ran behind the fence: which it stopped, what would help, and no false alarm."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Finished, Limits, execute, shell_command
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from skills_runtime.sandbox.denials import Denial, ProcessOutcome
from tests.e2e.sandbox.arena import state_beside
from tests.e2e.sandbox.denied import LIMITS, ORDINARY, STOPPED, Stopped
from tests.support.users import outside

VARIABLES = {"PATH": "/usr/bin:/bin"}
GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


@dataclass(frozen=True)
class Place:
    """A workspace, and a directory beside it; not in `/tmp`, which every command has its own of."""

    base: Path

    @property
    def workspace(self) -> Path:
        return self.base / "workspace"

    def said(self, text: str) -> str:
        names = {"WS": self.workspace, "OUT": self.base / "outside", "BASE": self.base.parents[-2]}
        for name, path in names.items():
            text = text.replace(name, str(path))
        return text

    def fence(self) -> OsSandbox:
        limits = msgspec.structs.replace(CAREFUL, cpu_seconds=None)
        return OsSandbox(
            build_policy("workspace-write", self.workspace, limits),
            find_adapters("bubblewrap"),
            VARIABLES,
            state=state_beside(self.workspace),
        )

    def run(self, text: str, fence: OsSandbox) -> ProcessOutcome:
        argv = shell_command(self.said(text))
        plan = fence.plan(ProcessRequest(argv=argv, cwd=self.workspace))
        command = Command(plan.argv, plan.cwd, plan.environment, setup=plan.setup)
        return outcome(argv, self.workspace, asyncio.run(execute(command, Limits(wall_seconds=60))))

    def denials(self, text: str) -> tuple[Denial, ...]:
        fence = self.fence()
        return fence.denials(self.run(text, fence))


def outcome(argv: tuple[str, ...], cwd: Path, finished: Finished) -> ProcessOutcome:
    return ProcessOutcome(
        cwd=cwd,
        argv=argv,
        exit_code=finished.exit_code,
        signal=finished.signal,
        stdout=finished.stdout.text(),
        stderr=finished.stderr.text(),
        exceeded=finished.exceeded,
        counted=finished.counted,
    )


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with outside() as base:
        made = Place(base)
        (base / "outside").mkdir()
        for name in ("file.txt", "file.c", "file.py"):
            (base / "outside" / name).write_text("x = 1\n")
        fill(made.workspace)
        yield made


def fill(workspace: Path) -> None:
    for directory in ("sub", ".vscode", ".skills_runtime_sdk/runtime"):
        (workspace / directory).mkdir(parents=True)
    for name in (".env", ".mcp.json", ".vscode/tasks.json", "a", ".skills_runtime_sdk/runtime/server.json"):
        (workspace / name).write_text("a\n")
    (workspace / "ok.c").write_text("int main(void) { return 0; }\n")
    for words in (["init", "-q", "."], ["add", "a"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=workspace, check=True, env={**os.environ, **GIT})


@pytest.mark.parametrize("stopped", STOPPED, ids=lambda stopped: stopped.command[:60])
def test_a_sandbox_denial_is_reported_with_the_least_that_would_help(stopped: Stopped, place: Place) -> None:
    found = place.denials(stopped.command)
    expected = (stopped.what, place.said(stopped.target), place.said(stopped.grant))
    told = [(one.what, one.target, str(one.grant) if one.grant else "") for one in found]
    assert expected in told or (stopped.target == "BASE" and [what for what, _, _ in told] == ["write"]), found


@pytest.mark.parametrize("command", ORDINARY)
def test_a_command_that_failed_by_itself_is_no_denial(command: str, place: Place) -> None:
    fence = place.fence()
    left = place.run(command, fence)
    assert left.exit_code != 0
    assert fence.denials(left) == ()


def test_only_what_the_kernel_counted_is_called_proven(place: Place) -> None:
    certain = {one.command: place.denials(one.command)[0].certainty for one in LIMITS}
    proven = {command for command, certainty in certain.items() if certainty == "proven"}
    assert any("bytearray" in command for command in proven)


@pytest.mark.parametrize(
    "command", ["touch OUT/granted && rm OUT/granted", "cat OUT/file.txt", "cp a OUT/copy && rm OUT/copy", "ls OUT"]
)
def test_with_the_grant_the_command_goes_on(command: str, place: Place) -> None:
    fence = place.fence()
    grants = [denial.grant for denial in fence.denials(place.run(command, fence)) if denial.grant]
    wider = fence.with_grant(grants[0])
    assert wider.policy.digest != fence.policy.digest
    assert place.run(command, wider).exit_code == 0


def test_what_is_opened_is_protected_as_the_workspace_is(place: Place) -> None:
    outside = place.base / "outside"
    (outside / ".env").write_text("KEY=hush\n")
    (outside / "project/.git/hooks").mkdir(parents=True)
    fence = place.fence()
    wider = fence.with_grant(next(one.grant for one in fence.denials(place.run("touch OUT/new", fence)) if one.grant))
    assert "hush" not in place.run("cat OUT/.env", wider).stdout
    assert place.run("echo x > OUT/project/.git/hooks/pre-commit", wider).exit_code != 0
    place.run("echo x > OUT/.mcp.json", wider)
    assert not (outside / "project/.git/hooks/pre-commit").exists()
    assert not (outside / ".mcp.json").exists()


def test_a_denial_can_be_written_as_json(place: Place) -> None:
    values = json.loads(msgspec.json.encode(place.denials("touch OUT/new")))
    assert values[0]["grant"]["writable"] == [str(place.base / "outside")]
