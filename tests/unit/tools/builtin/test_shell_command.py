"""shell_exec, shell and shell_command: real commands, how they end, and that nothing of them is left."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import AccessRefused, NotFound, SandboxError, SkillsRuntimeError, ToolError, ValidationFailed
from skills_runtime.ports import Tool, ToolResult
from skills_runtime.sandbox import UnavailableSandbox
from skills_runtime.testing import FrozenClock
from skills_runtime.tools.builtin import Shell, ShellCommand, ShellExec
from skills_runtime.tools.invoke import LIMIT, invoke
from tests.support.tools import Workshop, data_of
from tests.support.users import Unprivileged
from tests.unit.tools.builtin.conftest import Tagging

ONE_SHOT: dict[str, tuple[Tool, str, str]] = {
    "shell_exec": (ShellExec(), "argv", "cwd"),
    "shell": (Shell(), "command", "workdir"),
    "shell_command": (ShellCommand(), "command", "workdir"),
}
"""Each tool, what it calls the command and what the directory."""

TEN_MEGABYTES = 10_000_000


async def script(workshop: Workshop, text: str, **more: Any) -> ToolResult:
    return await workshop.call(ShellCommand(), command=text, **more)


async def written_to(pipe: Path) -> None:
    """Return when somebody has written to a named pipe."""
    descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    loop, written = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, written.set)
    try:
        async with asyncio.timeout(20):
            await written.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


@pytest.mark.parametrize("name", ONE_SHOT)
async def test_a_command_runs_where_it_is_told_to(name: str, running: Workshop) -> None:
    tool, command, directory = ONE_SHOT[name]
    (running.root / "sub").mkdir()
    words: Any = "pwd" if name == "shell_command" else ["pwd"]
    result = await tool.invoke({command: words, directory: "sub"}, running)
    assert (result.ok, result.stdout, result.stderr) == (True, f"{running.root}/sub\n", "")
    assert (result.exit_code, result.error_kind, result.truncated) == (0, None, False)


@pytest.mark.parametrize("name", ONE_SHOT)
async def test_every_result_says_what_the_fence_was(name: str, running: Workshop) -> None:
    tool, command, _ = ONE_SHOT[name]
    result = await tool.invoke({command: "true" if name == "shell_command" else ["true"]}, running)
    assert data_of(result)["sandbox"]["effective"] == "none"
    assert data_of(result)["sandbox"]["active"] is False


@pytest.mark.parametrize("name", ONE_SHOT)
async def test_without_a_fence_nothing_is_started(name: str, tmp_path: Path) -> None:
    tool, command, _ = ONE_SHOT[name]
    workshop = Workshop(tmp_path, sandbox=UnavailableSandbox())
    words: Any = "touch made" if name == "shell_command" else ["touch", "made"]
    with pytest.raises(SandboxError, match="no sandbox is available"):
        await tool.invoke({command: words}, workshop)
    assert workshop.contents() == {}


async def test_a_refusal_of_the_fence_has_its_own_kind(workshop: Workshop) -> None:
    arguments = {"argv": ["true"], "sandbox": "restricted"}
    result = await invoke(ShellExec(), arguments, workshop, clock=FrozenClock())
    assert (result.ok, result.error_kind) == (False, "sandbox_denied")


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ({}, "inherit"),
        ({"sandbox": "inherit"}, "inherit"),
        ({"sandbox_permissions": "require_escalated"}, "require_escalated"),
        ({"sandbox": "inherit", "sandbox_permissions": "require_escalated"}, "require_escalated"),
    ],
)
async def test_the_sandbox_gets_what_the_call_asks_for(
    arguments: dict[str, str], asked: str, running: Workshop, fence: Tagging
) -> None:
    await running.call(ShellExec(), argv=["true"], **arguments)
    assert [(one.permissions, one.terminal) for one in fence.requests] == [(asked, False)]


@pytest.mark.parametrize("arguments", [{"sandbox": "restricted"}, {"sandbox_permissions": "restricted"}])
async def test_isolation_that_is_insisted_on_is_never_left_out(arguments: dict[str, str], running: Workshop) -> None:
    with pytest.raises(SandboxError):
        await running.call(ShellExec(), argv=["true"], **arguments)


async def test_a_call_cannot_ask_for_more_and_for_less(running: Workshop, fence: Tagging) -> None:
    with pytest.raises(ToolError, match="contradict") as caught:
        await running.call(Shell(), command=["true"], sandbox="restricted", sandbox_permissions="require_escalated")
    assert caught.value.kind == "validation"
    assert fence.requests == []


async def test_arguments_reach_the_program_as_they_are(running: Workshop) -> None:
    words = ["a b", "", "$HOME", "*", "ü\n"]
    assert (await running.call(ShellExec(), argv=["printf", "<%s>", *words])).stdout == "<a b><><$HOME><*><ü\n>"


async def test_a_line_of_shell_has_everything_a_shell_has(running: Workshop) -> None:
    assert (await script(running, "for n in 1 2; do echo $n; done | tac; echo err >&2")).stdout == "2\n1\n"


async def test_the_shell_is_not_a_login_shell(running: Workshop) -> None:
    running.write(".profile", "echo from the profile\n")
    result = await script(running, "echo $PATH", env={"HOME": str(running.root), "PATH": "/opt/mine:/usr/bin:/bin"})
    assert result.stdout == "/opt/mine:/usr/bin:/bin\n"


async def test_the_environment_is_clean_but_for_what_was_given(
    running: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    lines = (await running.call(ShellExec(), argv=["env"], env={"MINE": "1"})).stdout.splitlines()
    names = {line.partition("=")[0] for line in lines}
    assert names == {"PATH", "LANG", "TERM", "MINE", "TEST_TAG", "SKILLS_RUNTIME_PROCESS"}


async def test_the_streams_are_kept_apart(running: Workshop) -> None:
    result = await script(running, "echo out; echo err >&2")
    assert (result.stdout, result.stderr) == ("out\n", "err\n")


async def test_an_exit_code_is_reported(running: Workshop) -> None:
    result = await script(running, "echo partly; exit 3")
    assert (result.ok, result.exit_code, result.error_kind, result.stdout) == (False, 3, "exit_code", "partly\n")


async def test_a_signal_is_reported_as_shells_do_it(running: Workshop) -> None:
    result = await script(running, "kill -SEGV $$")
    assert (result.ok, result.exit_code, result.error_kind) == (False, 139, "exit_code")
    assert data_of(result)["signal"] == 11


async def test_a_timeout_ends_the_tree_and_keeps_the_output(running: Workshop, fence: Tagging) -> None:
    text = "echo said; echo complained >&2; setsid -f sleep 1000; sleep 1000 & sleep 1000"
    result = await script(running, text, timeout_ms=1500)
    assert (result.ok, result.error_kind) == (False, "timeout")
    assert result.stdout == "said\n"
    assert result.stderr.startswith("complained\n[ended after 1500 ms")
    assert fence.alive() == []


async def test_what_is_left_in_the_background_ends_with_the_call(running: Workshop, fence: Tagging) -> None:
    assert (await script(running, "setsid -f sleep 1000; sleep 1000 & echo done")).stdout == "done\n"
    assert fence.alive() == []


async def test_a_cancelled_call_leaves_no_process(running: Workshop, fence: Tagging) -> None:
    os.mkfifo(running.root / "up")
    call = asyncio.create_task(script(running, "setsid -f sleep 1000; sleep 1000 & echo > up; sleep 1000"))
    await written_to(running.root / "up")
    async with asyncio.timeout(20):
        while len(fence.alive()) < 3:  # one that has just been forked may not have its program yet
            await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert fence.alive() == []


async def test_ten_megabytes_arrive_whole_in_the_blob(running: Workshop) -> None:
    text = f"seq 1 2000000 | head -c {TEN_MEGABYTES - 4}; echo end"
    result = await invoke(ShellCommand(), {"command": text}, running, clock=FrozenClock())
    assert result.ok
    assert (len(result.stdout.encode()) <= LIMIT, result.truncated) == (True, True)
    assert result.stdout.startswith("1\n2\n3\n")
    assert result.stdout.endswith("end\n")
    place = data_of(result)["spilled"]["stdout"]
    numbers = "".join(f"{number}\n" for number in range(1, 2_000_001)).encode()
    assert running.blobs[place["blob"]] == numbers[: TEN_MEGABYTES - 4] + b"end\n"
    assert place["bytes"] == TEN_MEGABYTES
    assert data_of(result)["sandbox"]["effective"] == "none"


async def test_what_is_too_long_to_be_kept_says_so_and_keeps_its_end(
    running: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skills_runtime.tools.processes.MAX_OUTPUT_BYTES", 100)
    result = await script(running, "seq 1 1000; echo end")
    assert result.truncated
    assert data_of(result)["left_out"] == {"stdout": 3897 - 100}
    assert result.stdout.startswith("1\n2\n")
    assert "\n… 3797 bytes left out …\n" in result.stdout
    assert result.stdout.endswith("\nend\n")


async def test_bytes_that_are_not_text_are_replaced(running: Workshop) -> None:
    assert (await script(running, r"printf 'a\377b'")).stdout == "a\ufffdb"


async def test_nothing_waits_for_input(running: Workshop) -> None:
    assert (await running.call(ShellExec(), argv=["cat"])).stdout == ""


async def test_an_unknown_program_is_not_found(running: Workshop) -> None:
    with pytest.raises(NotFound, match="`foo-bar` is not a program on PATH"):
        await running.call(ShellExec(), argv=["foo-bar"])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"argv": []}, ToolError),
        ({"argv": "echo hi"}, ToolError),
        ({"argv": [""]}, ValidationFailed),
        ({"argv": ["a\0b"]}, ValidationFailed),
        ({"argv": ["true"], "env": {"A=B": "1"}}, ValidationFailed),
        ({"argv": ["true"], "env": {"A": 1}}, ToolError),
        ({"argv": ["true"], "timeout_ms": 0}, ToolError),
        ({"argv": ["true"], "sandbox": "none"}, ToolError),
    ],
)
async def test_what_cannot_be_started_is_refused(
    arguments: dict[str, Any], error: type[SkillsRuntimeError], running: Workshop
) -> None:
    with pytest.raises(error) as caught:
        await running.call(ShellExec(), **arguments)
    assert caught.value.kind == "validation"


async def test_a_directory_is_named_from_the_root_or_by_its_whole_path(running: Workshop) -> None:
    (running.root / "a" / "b").mkdir(parents=True)
    (running.root / "link").symlink_to("a/b")
    for name in ("a/b", "./a//b/", "a/../a/b", "link", str(running.root / "a" / "b")):
        assert (await running.call(ShellExec(), argv=["pwd"], cwd=name)).stdout == f"{running.root}/a/b\n"


@pytest.mark.parametrize("name", ["..", "a/../..", "/", "/etc", "out", "out/below", "whole", "a/\0"])
async def test_a_directory_outside_is_refused(name: str, running: Workshop, tmp_path: Path, fence: Tagging) -> None:
    (running.root / "a").mkdir()
    (tmp_path / "outside" / "below").mkdir(parents=True)
    (running.root / "out").symlink_to("../outside")
    (running.root / "whole").symlink_to(tmp_path / "outside")
    with pytest.raises(ToolError) as caught:
        await running.call(ShellExec(), argv=["pwd"], cwd=name)
    assert caught.value.kind == "validation"
    assert fence.requests == []


@pytest.mark.parametrize("name", ["missing", "file", "file/below", "dangling"])
async def test_a_directory_that_is_none_is_not_found(name: str, running: Workshop) -> None:
    running.write("file", "x")
    (running.root / "dangling").symlink_to("nowhere")
    with pytest.raises(NotFound):
        await running.call(ShellExec(), argv=["pwd"], cwd=name)


async def test_a_root_behind_a_link_is_a_root(tmp_path: Path, fence: Tagging) -> None:
    workshop = Workshop(tmp_path / "real", sandbox=fence)
    (workshop.root / "sub").mkdir()
    (tmp_path / "alias").symlink_to(workshop.root)
    real, workshop.root = workshop.root, tmp_path / "alias"
    for name in ("sub", str(tmp_path / "alias" / "sub"), str(real / "sub")):
        assert (await workshop.call(ShellExec(), argv=["pwd"], cwd=name)).stdout == f"{real}/sub\n"


def test_a_directory_that_may_not_be_entered_is_refused_with_its_kind(unprivileged: Unprivileged) -> None:
    def call() -> ToolResult:
        workshop = Workshop(unprivileged.path)
        (workshop.root / "locked" / "below").mkdir(parents=True)
        (workshop.root / "locked").chmod(0)
        return asyncio.run(workshop.call(ShellExec(), argv=["true"], cwd="locked/below"))

    with pytest.raises(AccessRefused):
        unprivileged(call)
