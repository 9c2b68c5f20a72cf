"""A fence begins its command when its supervisor has seen everything in its place, and never because that has died."""

from pathlib import Path

import pytest

from skills_runtime.errors import SandboxError, ToolError
from skills_runtime.ports import KernelLimits, SandboxSetup
from skills_runtime.processes import Command, Limits, execute

LIMITS = Limits(wall_seconds=30.0, grace_seconds=0.5)
TELL = "import os; os.write(62, b'{\"child-pid\": %d}' % os.getpid()); os.close(62); "
WAIT = "os.read(63, 1); os.close(63); "
READ = "data = os.read(3, 100); "


def fence(code: str, *mounts: tuple[str, str, str], withheld: int | None = 0, **values: int) -> Command:
    """A stand-in for a fence, which mounts nothing and is given one input."""
    setup = SandboxSetup(
        inputs=(b"the filter",),
        mounts=mounts,
        withheld=withheld,
        limits=KernelLimits(values=tuple(values.items())),
        layers=1,
    )
    return Command(("/usr/bin/python3", "-I", "-c", code), Path("/"), {}, setup=setup)


async def test_what_was_withheld_is_given_when_everything_is_in_its_place() -> None:
    done = await execute(fence(TELL + WAIT + READ + "print(data.decode(), os.read(3, 1))"), LIMITS)
    assert done.stdout.text() == "the filter b''\n", done.stderr.text()


async def test_output_of_a_sandbox_that_fails_while_starting_is_read() -> None:
    done = await execute(fence(TELL + WAIT + "import sys; sys.exit('no room')"), LIMITS)
    assert (done.exit_code, done.stderr.text()) == (1, "no room\n")


async def test_a_mount_that_is_missing_is_a_refusal_and_nothing_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = TELL + WAIT + READ + f"open({str(ran)!r}, 'w')"
    with pytest.raises(SandboxError, match="the workspace changed while the sandbox was set up"):
        await execute(fence(code, (f"{tmp_path}/nothing", "/usr", "")), LIMITS)
    assert not ran.exists()


async def test_a_link_on_the_way_is_a_refusal_before_anything_is_started(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr")
    place = f"{tmp_path}/link/bin"
    with pytest.raises(SandboxError, match="the workspace changed"):
        await execute(fence(f"open('{tmp_path}/ran', 'w')", (place, place, place)), LIMITS)
    assert not (tmp_path / "ran").exists()


async def test_a_supervisor_that_dies_before_the_word_lets_nothing_begin(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = f"import os; os.kill(os.getppid(), 9); os.read(63, 1); open({str(ran)!r}, 'w')"
    with pytest.raises(ToolError):
        await execute(fence(code, withheld=None), LIMITS)
    assert not ran.exists()


async def test_a_supervisor_that_dies_after_the_word_gives_nothing_more(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = TELL + "os.read(63, 1); os.kill(os.getppid(), 9); " + READ + f"data and open({str(ran)!r}, 'w')"
    with pytest.raises(ToolError):
        await execute(fence(code), LIMITS)
    assert not ran.exists()


@pytest.mark.parametrize("value", [1 << 63, 1 << 70, -5])
async def test_a_limit_that_no_kernel_takes_is_a_refusal(value: int, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with pytest.raises(SandboxError, match="the limits of a command cannot be set"):
        await execute(fence(TELL + WAIT + READ + f"open({str(ran)!r}, 'w')", fsize=value), LIMITS)
    assert not ran.exists()
