"""What a command is given, and what comes back of it."""

import hashlib
import os
import random
import signal
from pathlib import Path

import pytest

from skills_runtime.errors import AccessRefused, NotFound, ValidationFailed
from skills_runtime.processes import Command, Limits, Stream, execute
from skills_runtime.processes.launcher import dismiss
from skills_runtime.processes.supervised import MARKER
from tests.unit.processes.conftest import Tagged

SOON = Limits(20)


async def output(command: Command) -> bytes:
    finished = await execute(command, SOON)
    assert finished.exit_code == 0
    return finished.stdout.head + finished.stdout.tail


async def test_both_streams_come_back_apart(command: Tagged) -> None:
    finished = await execute(command.shell("echo out; echo err >&2"), SOON)
    assert (finished.stdout.text(), finished.stderr.text()) == ("out\n", "err\n")
    assert (finished.exit_code, finished.signal, finished.ended_by) == (0, None, "exit")


@pytest.mark.parametrize("code", [1, 2, 127, 128, 137, 255])
async def test_the_exit_code_is_exact(command: Tagged, code: int) -> None:
    finished = await execute(command.shell(f"exit {code}"), SOON)
    assert (finished.exit_code, finished.signal) == (code, None)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
async def test_a_signal_is_reported_as_a_signal(command: Tagged, number: signal.Signals) -> None:
    finished = await execute(command.shell(f"kill -{int(number)} $$"), SOON)
    assert (finished.exit_code, finished.signal, finished.ended_by) == (None, number, "exit")


async def test_binary_output_is_exact(command: Tagged) -> None:
    data = random.Random(1).randbytes(300_000)
    (command.cwd / "data").write_bytes(data)
    assert await output(command("cat", "data")) == data


async def test_standard_input_larger_than_a_pipe_flows_while_output_does(command: Tagged) -> None:
    data = random.Random(2).randbytes(3_000_000)
    finished = await execute(command("cat", stdin=data), SOON)
    assert (finished.stdout.total, finished.stdout.sha256) == (len(data), hashlib.sha256(data).hexdigest())


async def test_without_input_there_is_nothing_to_read(command: Tagged) -> None:
    assert await output(command("cat")) == b""


async def test_input_without_a_reader_is_no_error(command: Tagged) -> None:
    finished = await execute(command("true", stdin=bytes(1_000_000)), SOON)
    assert (finished.exit_code, finished.ended_by) == (0, "exit")


async def test_a_program_that_closes_its_output_early_is_still_waited_for(command: Tagged) -> None:
    finished = await execute(command.shell("echo last; exec >&- 2>&-; sleep 0.2; exit 3"), SOON)
    assert (finished.stdout.text(), finished.exit_code, finished.ended_by) == ("last\n", 3, "exit")
    assert finished.duration_ms >= 200


async def test_every_byte_is_handed_on_in_order_as_it_comes(command: Tagged) -> None:
    received: dict[Stream, bytes] = {"stdout": b"", "stderr": b""}

    def keep(stream: Stream, data: bytes) -> None:
        received[stream] += data

    finished = await execute(command.shell("seq 1 50000; seq 1 10 >&2"), Limits(20, output_bytes=100), on_output=keep)
    assert received["stdout"] == b"".join(b"%d\n" % number for number in range(1, 50_001))
    assert received["stderr"] == b"".join(b"%d\n" % number for number in range(1, 11))
    assert finished.stdout.total == len(received["stdout"])


async def test_the_environment_is_exactly_what_was_given_and_the_mark(command: Tagged) -> None:
    lines = (await output(command("env", "-0"))).decode().rstrip("\0").split("\0")
    given = dict(line.split("=", 1) for line in lines)
    assert given.pop(MARKER).startswith("process_")
    assert given == command.environment


async def test_values_that_are_not_utf_8_arrive_unchanged(command: Tagged) -> None:
    odd = os.fsdecode(b"\xff\xfe caf\xe9")
    environment = {**command.environment, "ODD": odd}
    finished = await execute(Command(("bash", "-c", 'printf %s "$0$ODD"', odd), command.cwd, environment), SOON)
    assert finished.stdout.head == os.fsencode(odd) * 2


async def test_the_command_runs_in_its_directory(command: Tagged) -> None:
    assert await output(command("pwd", "-P")) == os.fsencode(command.cwd.resolve()) + b"\n"


async def test_a_program_is_found_relative_to_its_directory(command: Tagged) -> None:
    script = command.cwd / "tool"
    script.write_text("#!/bin/sh\necho here\n")
    script.chmod(0o755)
    assert await output(command("./tool")) == b"here\n"


async def test_nothing_is_inherited_but_the_three_streams(command: Tagged) -> None:
    with open(command.cwd / "open", "w") as file:
        os.set_inheritable(file.fileno(), True)
        dismiss()  # so that a launcher is started which this descriptor is passed to
        names = (await output(command.shell("echo /proc/$$/fd/*"))).split()
    # Listing them takes one more descriptor, which is closed again when its own entry is listed.
    assert {int(Path(os.fsdecode(name)).name) for name in names} - {0, 1, 2} <= {3, 255}


async def test_signals_that_the_runtime_ignores_work_in_the_command(command: Tagged) -> None:
    finished = await execute(command.shell("yes | head -n 1; exit ${PIPESTATUS[0]}"), SOON)
    assert finished.exit_code == 128 + signal.SIGPIPE


async def test_a_command_leads_its_own_session(command: Tagged) -> None:
    fields = (await output(command("cat", "/proc/self/stat"))).rpartition(b")")[2].split()
    pid = (await output(command("bash", "-c", "echo $$; cut -d' ' -f1,5,6 /proc/$$/stat"))).split()
    assert pid[0] == pid[1] == pid[2] == pid[3]
    assert int(fields[3]) != os.getsid(0)


async def test_one_command_leaves_nothing_to_the_next(command: Tagged) -> None:
    await execute(command.shell("cd /; umask 077; ulimit -n 64; export LEFT=behind; trap '' TERM"), SOON)
    answer = await output(command.shell('umask; ulimit -n; echo "$LEFT"; pwd -P'))
    fresh = await output(command.shell('umask; ulimit -n; echo "$LEFT"; pwd -P'))
    assert answer == fresh
    assert answer.splitlines()[2:] == [b"", os.fsencode(command.cwd.resolve())]


async def test_an_unknown_program_is_not_found(command: Tagged) -> None:
    with pytest.raises(NotFound, match="`foo-bar` is not a program on PATH"):
        await execute(command("foo-bar"), SOON)


async def test_a_file_without_permission_is_refused(command: Tagged) -> None:
    (command.cwd / "tool").write_text("#!/bin/sh\n")
    with pytest.raises(AccessRefused, match="not executable"):
        await execute(command("./tool"), SOON)


async def test_a_missing_directory_is_not_found(command: Tagged) -> None:
    with pytest.raises(NotFound, match="working directory"):
        await execute(Command(("true",), command.cwd / "gone", command.environment), SOON)


async def test_a_missing_interpreter_is_not_found(command: Tagged) -> None:
    script = command.cwd / "tool"
    script.write_text("#!/nowhere/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(NotFound, match=r"the interpreter that `\./tool` asks for"):
        await execute(command("./tool"), SOON)


async def test_a_file_that_is_no_program_is_refused(command: Tagged) -> None:
    script = command.cwd / "tool"
    script.write_bytes(b"\0\1\2 no program")
    script.chmod(0o755)
    with pytest.raises(ValidationFailed, match="cannot be executed on this machine"):
        await execute(command("./tool"), SOON)


async def test_an_argument_longer_than_the_system_accepts_is_refused(command: Tagged) -> None:
    with pytest.raises(ValidationFailed, match="longer than the system accepts"):
        await execute(command("echo", "x" * 1_000_000), SOON)


async def test_many_long_arguments_that_the_system_accepts_arrive(command: Tagged) -> None:
    words = [str(number) * 100 for number in range(2_000)]
    assert await output(command("printf", "%s\n", *words)) == "".join(f"{word}\n" for word in words).encode()


async def test_after_a_refusal_the_next_command_runs(command: Tagged) -> None:
    for _ in range(3):
        with pytest.raises(ValidationFailed):
            await execute(command("echo", "x" * 1_000_000), SOON)
        assert await output(command("echo", "fine")) == b"fine\n"
