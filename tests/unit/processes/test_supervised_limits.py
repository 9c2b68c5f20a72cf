"""Limits are set from outside, while the fence waits: a command never begins without them."""

import resource
from pathlib import Path

from skills_runtime.errors import SandboxError
from skills_runtime.ports import KernelLimits, SandboxSetup
from skills_runtime.processes import Command, Finished, Limits, execute
from tests.support.users import Unprivileged

LIMITS = Limits(wall_seconds=30.0, grace_seconds=0.5)
SHOW = (
    "import os, resource as r; os.read(63, 1); "
    "print(*(r.getrlimit(one) for one in (r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_CORE)))"
)
TELL = "import os; os.write(62, b'{\"child-pid\": %d, ' % os.getpid()); os.write(62, b'\"more\": 1}'); os.close(62); "


def fence(code: str, **values: int) -> Command:
    """A stand-in for a fence: a program that tells its number and waits."""
    setup = SandboxSetup(limits=KernelLimits(values=tuple(values.items())), layers=1)
    return Command(("/usr/bin/python3", "-I", "-c", code), Path("/"), {}, setup=setup)


async def test_limits_are_set_before_the_sandbox_starts() -> None:
    done = await execute(fence(TELL + SHOW, nofile=99, fsize=1 << 20, core=0), LIMITS)
    assert done.stdout.head == b"(99, 99) (1048576, 1048576) (0, 0)\n", done.stderr.text()


def test_an_ordinary_user_sets_them_as_well(unprivileged: Unprivileged) -> None:
    def work() -> str:
        import asyncio

        done: Finished = asyncio.run(execute(fence(TELL + SHOW, nofile=99, fsize=1 << 20, core=0), LIMITS))
        return done.stdout.text()

    assert unprivileged(work) == "(99, 99) (1048576, 1048576) (0, 0)\n"


async def test_output_of_a_sandbox_that_ends_before_reporting_is_read() -> None:
    done = await execute(fence("import sys; sys.exit('no room')", nofile=99), LIMITS)
    assert (done.exit_code, done.stderr.head) == (1, b"no room\n")


async def test_a_fence_that_hangs_up_without_telling_is_killed_before_its_command_begins(tmp_path: Path) -> None:
    code = f"import os; os.close(62); os.read(63, 1); open({str(tmp_path / 'ran')!r}, 'w')"
    done = await execute(fence(code, nofile=99), LIMITS)
    assert done.signal == 9
    assert not (tmp_path / "ran").exists()


async def test_a_limit_above_what_this_user_may_have_is_that_much() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = await execute(fence(TELL + SHOW, nofile=most + 1000), LIMITS)
    assert done.stdout.head.startswith(f"({most}, {most})".encode()), done.stderr.text()


def test_a_process_that_may_not_be_limited_is_a_refusal_and_nothing_runs(unprivileged: Unprivileged) -> None:
    ran = unprivileged.path / "ran"
    tell = "import os; os.write(62, b'{\"child-pid\": 1}'); os.close(62); "
    code = f"{tell} os.read(63, 1); open({str(ran)!r}, 'w')"

    def work() -> str:
        import asyncio

        try:
            asyncio.run(execute(fence(code, nofile=99), LIMITS))
        except SandboxError as error:
            return error.message
        return "it ran"

    assert unprivileged(work) == "the limits of a command cannot be set: Operation not permitted"
    assert not ran.exists()
