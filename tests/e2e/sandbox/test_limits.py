"""Limits that a command could get around: by memory nobody counts, by files without a name, by being first."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.errors import SandboxError, ToolError
from skills_runtime.sandbox import CAREFUL, OsSandbox, build_policy, find_adapters
from skills_runtime.sandbox.policy import MEBIBYTE
from skills_runtime.sandbox.supervision.spawn import SandboxStart
from skills_runtime.tools.builtin import ShellCommand
from tests.e2e.sandbox.arena import Arena, Outcome, new_arena
from tests.support.tools import Workshop, data_of
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
FILL = """
sent = 0
def fill(sender):
    global sent
    sender.setblocking(False)
    try:
        for _ in range(4096): sent += sender.send(bytes(1 << 16))
    except OSError: pass
"""
BUFFERS = {
    "connections that nobody reads": f"""{FILL}
server = socket.create_server(('127.0.0.1', 0), backlog=400)
held = []
for _ in range(350):
    held.append(socket.create_connection(server.getsockname(), timeout=2)); fill(held[-1]); time.sleep(0.002)
time.sleep(0.5)
for one in held: fill(one)
time.sleep(1)
if sent > 200 << 20: reached(sent)
""",
    "pairs that nobody reads": f"""{FILL}
held = []
for _ in range(480):
    held.append(socket.socketpair())
    for one in held[-1]:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22); fill(one)
time.sleep(1)
if sent > 200 << 20: reached(sent)
""",
    "pairs of which one end is closed": f"""{FILL}
held = []
for _ in range(480):
    held.append(socket.socketpair()); fill(held[-1][0]); held[-1][0].close()
    held.append(socket.socketpair()); fill(held[-1][0]); held[-1][0].close()
time.sleep(1)
if sent > 150 << 20: reached(sent)
""",
}
NAMELESS = """
files = []
for number in range(12):
    files.append(os.open(f'n{number}', os.O_RDWR | os.O_CREAT)); os.unlink(f'n{number}')
    os.posix_fallocate(files[-1], 0, 8 << 20); time.sleep(0.06)
time.sleep(0.5); reached()
"""
RESERVED = """
import fcntl
path = 'file.txt' if existing else 'reserved'
file = os.open(path, os.O_RDWR | os.O_CREAT)
ways = [lambda: libc.fallocate(file, 1, ctypes.c_long(0), ctypes.c_long(64 << 20))]
for request in (0x40305828, 0x4030582A, 0x40305839):
    ways.append(lambda: fcntl.ioctl(file, request, struct.pack('=hh4xqqiI16x', 0, 0, 0, 64 << 20, 0, 0)))
for way in ways:
    try:
        if way() == 0: reached()
        elif ctypes.get_errno() != errno.EOPNOTSUPP: print('REFUSED OTHERWISE', ctypes.get_errno())
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP: print('REFUSED OTHERWISE', error)
if os.fstat(file).st_blocks > 1000: reached('blocks')
"""
FLOOD = """
os.mkdir('made')
for number in range(4000):
    with open(f'made/{number}', 'wb') as file: file.write(bytes(1 << 20))
"""
LARGE = "with open('large', 'wb', buffering=0) as file:\n  while True: file.write(bytes(1 << 20))"
MANY = "for number in range(100_000): open(f'{number}', 'w').close()"
REPLACED = """
data = bytes(8 << 20)
with open('draft', 'wb') as file: file.write(data)
os.rename('draft', 'file.txt')
while True:
    with open('draft', 'ab') as file: file.write(data)
"""
PROGRAMS = """
def check(line): subprocess.run(['/bin/sh', '-ec', line], check=True, stdout=subprocess.DEVNULL)
file = os.open('allocated', os.O_RDWR | os.O_CREAT)
os.posix_fallocate(file, 0, 3 << 20)
if os.fstat(file).st_size != 3 << 20: sys.exit(1)
check('fallocate --posix -l 1M posix')
check('dd if=/dev/zero of=zeros bs=64k count=16')
check('cp --sparse=always zeros copy; tar cf all.tar zeros copy')
check('mkdir project; cd project; git init -q . || true')
import sqlite3
for mode in ('wal', 'delete'):
    database = sqlite3.connect(f'{mode}.db')
    database.execute(f'pragma journal_mode={mode}')
    database.execute('create table t(a)'); database.execute('insert into t values (zeroblob(100000))')
    database.commit(); database.execute('vacuum'); database.close()
import mmap
memory = mmap.mmap(file, 3 << 20); memory[0] = 1; memory.close()
reached()
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
@pytest.mark.parametrize("way", sorted(BUFFERS))
def test_buffers_of_sockets_are_limited(way: str, arena: Arena) -> None:
    assert not arena.run(BUFFERS[way], limits=SMALL).reached


@pytest.mark.slow
@pytest.mark.parametrize("way", sorted(BUFFERS))
def test_buffers_of_sockets_are_limited_for_an_ordinary_user(way: str, unprivileged: Unprivileged) -> None:
    outcome = _ordinary(unprivileged, BUFFERS[way])
    assert not outcome.reached
    assert outcome.finished.exceeded == "memory", outcome


@pytest.mark.slow
def test_files_without_a_name_count(arena: Arena) -> None:
    outcome = arena.run(NAMELESS, limits=SMALL)
    assert outcome.finished.exceeded == "disk", outcome


@pytest.mark.slow
def test_files_in_a_closed_directory_count(unprivileged: Unprivileged) -> None:
    outcome = _ordinary(unprivileged, CLOSED)
    assert outcome.finished.exceeded == "disk", outcome


@pytest.mark.parametrize("existing", [False, True])
def test_no_call_reserves_room_on_the_disk(existing: bool, arena: Arena) -> None:
    outcome = arena.run(f"existing = {existing}\n{RESERVED}", limits=SMALL)
    assert "REACHED" not in outcome.stdout
    assert "REFUSED OTHERWISE" not in outcome.stdout
    assert outcome.finished.exit_code == 0, outcome.stderr


def test_no_call_of_an_ordinary_user_reserves_room_on_the_disk(unprivileged: Unprivileged) -> None:
    outcome = _ordinary(unprivileged, f"existing = False\n{RESERVED}")
    assert "REACHED" not in outcome.stdout
    assert outcome.finished.exit_code == 0, outcome.stderr


def test_programs_that_reserve_room_write_instead(arena: Arena) -> None:
    outcome = arena.run(PROGRAMS)
    assert outcome.reached, outcome.stderr


def test_programs_of_an_ordinary_user_that_reserve_room_write_instead(unprivileged: Unprivileged) -> None:
    outcome = unprivileged(lambda: new_arena(unprivileged.path).run(PROGRAMS))
    assert outcome.reached, outcome.stderr


# What other programs delete meanwhile hides what a command writes, so that a little may be left.


def _size(place: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in place.rglob("*"))


@pytest.mark.parametrize("code", [FLOOD, LARGE])
def test_what_is_written_beyond_the_limit_is_removed(code: str, arena: Arena) -> None:
    before = _size(arena.workspace)
    finished = arena.run(code, limits=SMALL).finished
    assert finished.exceeded == "disk"
    assert finished.removed is not None
    assert finished.removed["files"] >= 1
    assert _size(arena.workspace) - before <= 16 * MEBIBYTE + finished.removed["left_bytes"]
    assert (arena.workspace / "file.txt").read_text() == "as it was\n"


def test_what_an_ordinary_user_writes_beyond_the_limit_is_removed(unprivileged: Unprivileged) -> None:
    def run() -> tuple[Mapping[str, Any] | None, int]:
        arena = new_arena(unprivileged.path)
        before = _size(arena.workspace)
        removed = arena.run(FLOOD, limits=SMALL).finished.removed
        return removed, _size(arena.workspace) - before

    removed, size = unprivileged(run)
    assert removed is not None
    assert removed["files"] >= 1
    assert size <= 16 * MEBIBYTE + removed["left_bytes"]


def test_files_beyond_their_number_are_removed(arena: Arena) -> None:
    before = len(list(arena.workspace.rglob("*")))
    removed = arena.run(MANY, limits=SMALL).finished.removed
    assert removed is not None
    assert removed["files"] >= 1
    assert len(list(arena.workspace.rglob("*"))) - before <= 200 + removed["left_files"]


def test_a_file_that_replaced_one_of_before_is_not_removed(arena: Arena) -> None:
    assert arena.run(REPLACED, limits=SMALL).finished.exceeded == "disk"
    assert (arena.workspace / "file.txt").stat().st_size == 8 * MEBIBYTE


async def test_a_result_tells_what_was_removed(arena: Arena) -> None:
    fence = OsSandbox(build_policy("workspace-write", arena.workspace, SMALL), find_adapters("bubblewrap"), {})
    result = await Workshop(arena.workspace, sandbox=fence).call(
        ShellCommand(), command="dd if=/dev/zero of=large bs=1M count=40"
    )
    removed = data_of(result)["sandbox"]["removed"]
    assert (removed["files"], removed["paths"], removed["left_bytes"]) == (1, ["project/large"], 0)
    assert (result.ok, result.error_kind) == (False, "sandbox_denied")
    assert "files beyond its disk limit were removed: 1 files" in result.stderr


def test_a_channel_that_is_closed_is_no_word_to_begin() -> None:
    limiting = SandboxStart({"tells": 62, "waits": 63, "values": []})
    waits = os.dup(limiting.file_actions()[1][1])
    try:
        limiting.close()
        assert not select.select([waits], [], [], 0)[0]
    finally:
        os.close(waits)


def test_the_word_to_begin_reaches_the_fence() -> None:
    limiting = SandboxStart({"tells": 62, "waits": 63, "values": []})
    tells, waits = (os.dup(action[1]) for action in limiting.file_actions())
    try:
        os.write(tells, f'{{"child-pid": {os.getpid()}}}'.encode())
        limiting.apply(os.getpid())
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
def test_the_clock_holds_while_nothing_reads_the_output(tmp_path: Path) -> None:
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
