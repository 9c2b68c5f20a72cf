"""Limits that a command could get around: by memory nobody counts, by files without a name, by being first."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import SandboxError, ToolError
from skills_runtime.sandbox import CAREFUL
from skills_runtime.sandbox.policy import MEBIBYTE
from skills_runtime.sandbox.supervision.spawn import Limiting
from tests.e2e.sandbox.arena import Arena, Outcome, new_arena
from tests.support.users import Unprivileged

PROGRAM = Path(sys.executable).parent / "skills-runtime"
SMALL = msgspec.structs.replace(
    CAREFUL, memory_bytes=96 * MEBIBYTE, disk_bytes=16 * MEBIBYTE, disk_files=200, wall_seconds=20.0
)
MEMORY = {
    "mapped and shared": "import mmap\nm = mmap.mmap(-1, 400 << 20)\n"
    "for at in range(0, 400 << 20, 4096): m[at] = 1\ntime.sleep(1.5); reached()",
    "files in memory": "files = []\nfor _ in range(10):\n"
    "  files.append(os.memfd_create('x')); os.write(files[-1], bytes(40 << 20))\ntime.sleep(1.5); reached()",
    "segments that nobody is attached to": """
libc.shmat.restype = ctypes.c_void_p
libc.shmdt.argtypes = [ctypes.c_void_p]
for number in range(10):
    one = libc.shmget(0x1000 + number, 40 << 20, 0o1600)
    if one < 0: sys.exit(1)
    place = libc.shmat(one, None, 0)
    ctypes.memset(place, 1, 40 << 20)
    libc.shmdt(place)
time.sleep(1.5); reached()
""",
}
NAMELESS = """
files = []
for number in range(12):
    files.append(os.open(f'n{number}', os.O_RDWR | os.O_CREAT)); os.unlink(f'n{number}')
    os.posix_fallocate(files[-1], 0, 8 << 20); time.sleep(0.06)
time.sleep(0.5); reached()
"""
CLOSED = """
os.mkdir('closed')
files = [os.open(f'closed/{number}', os.O_RDWR | os.O_CREAT) for number in range(12)]
os.chmod('closed', 0)
for file in files:
    os.posix_fallocate(file, 0, 8 << 20); time.sleep(0.06)
time.sleep(0.5); reached()
"""


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


def _ordinary(unprivileged: Unprivileged, code: str) -> Outcome:
    def run() -> Outcome:
        return new_arena(unprivileged.path).run(code, limits=SMALL)

    return unprivileged(run)


@pytest.mark.slow
@pytest.mark.parametrize("way", sorted(MEMORY))
def test_memory_is_limited_however_it_is_taken(way: str, arena: Arena) -> None:
    assert not arena.run(MEMORY[way], limits=SMALL).reached


@pytest.mark.slow
@pytest.mark.parametrize("way", sorted(MEMORY))
def test_memory_is_limited_for_an_ordinary_user_however_it_is_taken(way: str, unprivileged: Unprivileged) -> None:
    assert not _ordinary(unprivileged, MEMORY[way]).reached


@pytest.mark.slow
def test_files_without_a_name_count(arena: Arena) -> None:
    outcome = arena.run(NAMELESS, limits=SMALL)
    assert outcome.finished.exceeded == "disk", outcome


@pytest.mark.slow
def test_files_in_a_closed_directory_count(unprivileged: Unprivileged) -> None:
    outcome = _ordinary(unprivileged, CLOSED)
    assert outcome.finished.exceeded == "disk", outcome


def test_a_channel_that_is_closed_is_no_word_to_begin() -> None:
    limiting = Limiting({"tells": 62, "waits": 63, "values": []})
    waits = os.dup(limiting.handed_over()[1][1])
    try:
        limiting.close()
        assert not select.select([waits], [], [], 0)[0]
    finally:
        os.close(waits)


def test_the_word_to_begin_reaches_the_fence() -> None:
    limiting = Limiting({"tells": 62, "waits": 63, "values": []})
    tells, waits = (os.dup(action[1]) for action in limiting.handed_over())
    try:
        os.write(tells, f'{{"child-pid": {os.getpid()}}}'.encode())
        limiting.set(os.getpid())
        assert os.read(waits, 1)
    finally:
        for descriptor in (tells, waits):
            os.close(descriptor)
        limiting.close()


def test_a_limit_beyond_all_numbers_is_refused_and_leaves_nothing(arena: Arena) -> None:
    before = sorted(path.name for path in arena.workspace.iterdir())
    with suppress(ToolError, SandboxError):
        arena.run("write('ran')", limits=msgspec.structs.replace(SMALL, file_bytes=1 << 63))
    assert sorted(path.name for path in arena.workspace.iterdir()) == before


@pytest.mark.slow
def test_the_clock_holds_while_nobody_reads_the_output(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    code = "(while :; do date +%s%N > beat; sleep 0.1; done) & yes"
    words = [PROGRAM, "sandbox", "exec", "--workspace", str(tmp_path), "--timeout", "1", "--", "sh", "-c", code]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert _still_beats(beat, seconds=25) is False
    finally:
        assert process.stdout is not None
        process.stdout.close()
        process.wait(timeout=60)


def _still_beats(beat: Path, *, seconds: float) -> bool:
    """Whether the file goes on changing for all this time, once it has begun to."""
    end = time.monotonic() + seconds
    last, since = "", time.monotonic()
    while time.monotonic() < end:
        now = beat.read_text() if beat.exists() else ""
        if now != last:
            last, since = now, time.monotonic()
        elif last and time.monotonic() - since > 5:
            return False
        time.sleep(0.1)
    return True
