"""A command in a network of its own reaches what the proxy lets through, and nothing else; as root and as anybody."""

import asyncio
import asyncio.subprocess
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.sandbox.egress import (
    EgressPolicy,
    EgressPorts,
    EgressRecord,
    Handover,
    egress_proxy,
    proxy_variables,
)
from tests.e2e.egress.conftest import all_on_this_machine, local, origin
from tests.support.users import Unprivileged

PYTHON = "/usr/bin/python3"
BARE = {"PATH": "/usr/bin:/bin"}
FENCES = {
    "bwrap": ("bwrap", "--unshare-user", "--unshare-net", "--unshare-pid", "--die-with-parent", "--cap-drop", "ALL",
              "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"),
    "unshare": ("unshare", "--map-root-user", "--net", "--"),
}  # fmt: skip
CLIENT = """
import socket, sys, urllib.error, urllib.request
host, port = sys.argv[1], int(sys.argv[2])
for name in (host, "evil.test"):
    try:
        print(urllib.request.urlopen(f"http://{name}:{port}/", timeout=20).read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.headers["x-proxy-error"])
for address in (("127.0.0.1", port), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, 5)
        print("reached")
    except OSError:
        print("no way")
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has network namespaces")


class Ran(NamedTuple):
    code: int
    output: str
    errors: str
    records: list[EgressRecord]


async def run(fence: str, command: tuple[str, ...], policy: EgressPolicy, environment: dict[str, str]) -> Ran:
    """Start a command behind a fence with its proxy, exactly as a sandbox would."""
    records: list[EgressRecord] = []
    ports = EgressPorts(policy=policy, record=records.append, resolve=all_on_this_machine)
    with Handover() as handover:
        process = await asyncio.create_subprocess_exec(
            *FENCES[fence],
            *handover.argv(command, PYTHON),
            pass_fds=(handover.descriptor,),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        handover.release_sandbox_end()
        async with egress_proxy(await handover.receive_listener(), ports):
            handover.allow_start()
            output, errors = await process.communicate()
    return Ran(process.returncode or 0, output.decode(), errors.decode(), records)


@pytest.fixture(params=["as the owner of the tests", "without rights"])
def somebody(request: pytest.FixtureRequest, unprivileged: Unprivileged) -> Callable[..., Any]:
    """Runs a coroutine to its end, as whoever runs the tests or as an ordinary user."""
    with Handover() as reading:
        reading.argv(())  # the code of a checkout may be readable for its owner only, that of an installation is not

    def call(work: Callable[[], Coroutine[None, None, Any]]) -> Any:
        return asyncio.run(work()) if request.param != "without rights" else unprivileged(lambda: asyncio.run(work()))

    return call


@pytest.mark.parametrize("fence", FENCES)
def test_a_command_reaches_what_is_allowed_and_nothing_else(fence: str, somebody: Callable[..., Ran]) -> None:
    async def work() -> Ran:
        async with origin() as server:
            command = (PYTHON, "-I", "-c", CLIENT, "allowed.test", str(server.port))
            return await run(fence, command, local("allowed.test", server.port), BARE | proxy_variables())

    ran = somebody(work)
    assert (ran.code, ran.output.splitlines()) == (0, ["hello", "403 not_allowed", "no way", "no way"]), ran.errors
    assert [(record.stage, record.verdict, record.host) for record in ran.records] == [
        ("decided", "allow", "allowed.test"),
        ("ended", "allow", "allowed.test"),
        ("decided", "deny", "evil.test"),
    ]


@pytest.mark.parametrize("fence", FENCES)
def test_the_command_begins_as_if_it_had_been_started_directly(fence: str, somebody: Callable[..., Ran]) -> None:
    script = "env; grep SigIgn /proc/self/status; ls /proc/self/fd; exit 7"
    ran = somebody(lambda: run(fence, ("sh", "-c", script), EgressPolicy(), BARE))
    lines = ran.output.splitlines()
    assert ran.code == 7
    assert {line.partition("=")[0] for line in lines if "=" in line} == {"PATH", "PWD"}
    ignored = int(next(line for line in lines if line.startswith("SigIgn")).split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)
    assert lines[-4:] == ["0", "1", "2", "3"]  # the last one is the listing itself


@pytest.mark.parametrize(("command", "code"), [(("no-such-command",), 127), (("/etc/passwd",), 126)])
def test_a_command_that_cannot_be_started_is_reported_as_a_shell_would(
    command: tuple[str, ...], code: int, somebody: Callable[..., Ran]
) -> None:
    ran = somebody(lambda: run("bwrap", command, EgressPolicy(), BARE))
    assert ran.code == code
    assert ran.errors.startswith(f"sandbox: {command[0]}: ")


def test_without_a_proxy_the_command_does_not_begin(somebody: Callable[..., tuple[int, bytes]]) -> None:
    async def work() -> tuple[int, bytes]:
        with Handover() as handover:
            process = await asyncio.create_subprocess_exec(
                *FENCES["bwrap"],
                *handover.argv(("echo", "began"), PYTHON),
                pass_fds=(handover.descriptor,),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            handover.release_sandbox_end()
            (await handover.receive_listener()).close()
        output, _ = await process.communicate()
        return process.returncode or 0, output

    assert somebody(work) == (126, b"")


async def test_a_sandbox_that_shares_the_netruns_of_the_machine_gets_no_proxy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    with Handover(port) as handover:
        process = await asyncio.create_subprocess_exec(
            *handover.argv(("echo", "began"), PYTHON),
            pass_fds=(handover.descriptor,),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        handover.release_sandbox_end()
        with pytest.raises(SandboxError, match="in the network of this machine"):
            await handover.receive_listener()
    assert (await process.communicate())[0] == b""
