"""A command cannot use more than it may, however it goes about it."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from skills_runtime.sandbox import CAREFUL
from skills_runtime.sandbox.policy import MEBIBYTE
from tests.e2e.sandbox.arena import Arena, Outcome, new_arena
from tests.support.users import Unprivileged

SMALL = msgspec.structs.replace(
    CAREFUL,
    memory_bytes=96 * MEBIBYTE,
    processes=30,
    file_bytes=4 * MEBIBYTE,
    open_files=64,
    temporary_bytes=8 * MEBIBYTE,
    shared_memory_bytes=4 * MEBIBYTE,
    disk_bytes=16 * MEBIBYTE,
    disk_files=500,
    output_bytes=MEBIBYTE,
    wall_seconds=20.0,
)
LATE = msgspec.structs.replace(SMALL, wall_seconds=0.5)
BUSY = msgspec.structs.replace(SMALL, cpu_seconds=1)

FORKS = """
made = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError:
    pass
if made > 40: reached(made)
os.kill(-1, 9)
"""
MANY = """
pids = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        data = b"x" * (40 << 20)
        time.sleep(1)
        os._exit(0)
    pids.append(pid)
if all(os.waitpid(pid, 0)[1] == 0 for pid in pids): reached()
"""
FILL = """
done = 0
try:
    for number in range(64):
        with open(f"{place}/{number}", "wb", buffering=0) as file: done += file.write(b"x" * (1 << 20))
except OSError: pass
if done > (20 << 20): reached(done)
"""


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


ATTEMPTS = {
    "fork without end": FORKS,
    "take much memory": "data = b'x' * (300 << 20); reached()",
    "take much memory in many processes": MANY,
    "write a large file": "open('large', 'wb').write(b'x' * (8 << 20)); reached()",
    "open many files": "files = [os.open('/dev/null', 0) for _ in range(100)]; reached()",
    "leave a dump": "import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1)); reached()",
    "raise a limit": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40)); reached()",
    "fill the private directory": f"place = '/tmp'\n{FILL}",
    "fill the shared memory": f"place = '/dev/shm'\n{FILL}",
    "fill the root": f"place = '/'\n{FILL}",
    "fill the devices": f"place = '/dev'\n{FILL}",
    "fill a hidden directory": f"place = '.skills_runtime_sdk'\n{FILL}",
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_more_than_allowed(name: str, arena: Arena) -> None:
    outcome = arena.run(ATTEMPTS[name], limits=SMALL)
    assert "STARTED" in outcome.stdout
    assert not outcome.reached, outcome.stdout + outcome.stderr


@pytest.mark.slow
def test_no_more_than_allowed_for_an_ordinary_user(unprivileged: Unprivileged) -> None:
    def run() -> dict[str, str]:
        outcomes = {name: new_arena(unprivileged.path).run(code, limits=SMALL) for name, code in ATTEMPTS.items()}
        return {name: one.stdout for name, one in outcomes.items() if one.reached or "STARTED" not in one.stdout}

    assert unprivileged(run) == {}


def test_what_fills_the_workspace_is_ended(arena: Arena) -> None:
    code = "for n in range(4000):\n    open(f'{n}', 'wb').write(b'x' * (1 << 20)); time.sleep(0.01)"
    outcome = arena.run(code, limits=SMALL)
    assert (outcome.finished.ended_by, outcome.finished.exceeded) == ("resource_limit", "disk")
    assert _size(arena.workspace) < 400 * MEBIBYTE


def test_what_makes_files_without_end_is_ended(arena: Arena) -> None:
    code = "for n in range(100_000):\n    open(f'{n}', 'w').close()\n    n % 100 or time.sleep(0.01)"
    assert arena.run(code, limits=SMALL).finished.exceeded == "disk"


def _size(place: Path) -> int:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


def test_what_writes_without_end_is_ended(arena: Arena) -> None:
    outcome = arena.run("while True: print('x' * 10_000)", limits=SMALL)
    assert outcome.finished.ended_by == "output_limit"


def test_what_computes_without_end_is_ended(arena: Arena) -> None:
    outcome = arena.run("while True: pass", limits=BUSY)
    assert outcome.finished.ended_by == "exit"
    assert outcome.finished.exit_code in (137, 152)


@pytest.mark.parametrize(
    "code",
    [
        "time.sleep(60)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        "os.fork() or (os.setsid(), signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(60)); time.sleep(60)",
    ],
)
def test_what_takes_too_long_is_ended(code: str, arena: Arena) -> None:
    outcome = arena.run(f"{code}\nreached()", limits=LATE)
    assert outcome.finished.ended_by == "timeout"
    assert not outcome.reached


def test_what_is_asked_to_end_may_end_in_peace(arena: Arena) -> None:
    limits = msgspec.structs.replace(LATE, wall_seconds=1.0)
    code = "signal.signal(signal.SIGTERM, lambda *_: (write('goodbye'), sys.exit(3)))\ntime.sleep(60)"
    outcome = arena.run(code, limits=limits)
    assert (arena.workspace / "goodbye").exists()
    assert (outcome.finished.ended_by, outcome.finished.exit_code) == ("timeout", 3)


def test_nothing_outlives_the_command(arena: Arena) -> None:
    code = "os.fork() or (os.setsid(), os.fork() or (time.sleep(0.5), write('survived')))\nos._exit(0)"
    outcome = arena.run(code)
    assert outcome.finished.survivors == ()
    assert _ended_before_writing(arena, outcome)


def _ended_before_writing(arena: Arena, outcome: Outcome) -> bool:
    """What would have written can do so no more: its namespace is gone, for the call has returned."""
    return outcome.finished.exit_code == 0 and not (arena.workspace / "survived").exists()
