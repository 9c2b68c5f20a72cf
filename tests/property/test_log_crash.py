"""Whatever happens to the bytes of a log, what was acknowledged is kept exactly or the log is refused, and nothing
that the writer did not write is ever honoured.
"""

import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from skills_runtime.errors import KeyMissing, LogCorrupt, LogError, StorageFailed
from skills_runtime.events import LOG_SCHEMA
from skills_runtime.events.payloads import HumanRequest, HumanResponse, RunCreated
from skills_runtime.runs.layout import SUBDIRECTORIES, RunPaths
from skills_runtime.runs.log import LogPorts, authenticate, create_log, open_log, read_verified
from skills_runtime.runs.log.chain import Chain, split_line
from skills_runtime.runs.run import open_run
from tests.support.runs import RUN_ID, decoded, filled_run, keys_in, lines_of, new_run, ports_in, sample_events

MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def directory() -> Generator[Path]:
    """A directory in memory where there is one: tens of thousands of logs are opened here."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as directory:
        yield Path(directory)


@dataclass(frozen=True)
class Opened:
    """What opening a log with these bytes led to."""

    log: bytes
    rejected: list[bytes]
    error: LogError | None


class Bench:
    """A run directory whose log is replaced again and again."""

    def __init__(self, paths: RunPaths, ports: LogPorts) -> None:
        self.paths = paths
        self.ports = ports
        self.lines = lines_of(paths)
        self.whole = b"".join(self.lines)

    def open_with(self, log: bytes) -> Opened:
        """Put these bytes in place, open the log, append one event and commit."""
        for path in self.paths.logs.iterdir():
            path.unlink()
        self.paths.events.write_bytes(log)
        try:
            writer, lock = open_log(self.paths, self.ports)
        except LogError as error:
            assert self.paths.events.read_bytes() == log, "a refused log is left as it is"
            assert not list(self.paths.logs.iterdir())
            return Opened(log, [], error)
        writer.append(HumanResponse(call_id="appended after opening"))
        writer.commit()
        writer.close()
        lock.release()
        rejected = [path.read_bytes() for path in self.paths.logs.glob("rejected-*")]
        return Opened(self.paths.events.read_bytes(), rejected, None)

    def honoured(self) -> list[bytes]:
        """The lines that verified reading yields, as their seals; none where the log is refused."""
        try:
            return [event.mac.encode() for event in read_verified(self.paths, self.ports.keys)]
        except LogError:
            return []

    def reported(self) -> bool:
        """Whether verification has anything to say against the log as it is."""
        try:
            authenticity = authenticate(self.paths, self.ports.keys)
        except LogError:
            return True
        return authenticity.tail_fault is not None or authenticity.unchecked > 0


def seal_of(line: bytes) -> bytes:
    parts = split_line(line.removesuffix(b"\n"))
    assert parts is not None
    return parts[1]


@pytest.fixture(scope="module")
def bench(directory: Path) -> Bench:
    return Bench(filled_run(directory), ports_in(directory))


def test_a_log_cut_at_any_byte_keeps_every_complete_line_and_goes_on(bench: Bench) -> None:
    first = len(bench.lines[0])
    for size in range(len(bench.whole) + 1):
        opened = bench.open_with(bench.whole[:size])
        if size < first:
            assert isinstance(opened.error, LogCorrupt), "nothing was ever acknowledged in a log without a first line"
            continue
        data = bench.whole[: bench.whole.rfind(b"\n", 0, size) + 1]
        torn = bench.whole[len(data) : size]
        assert opened.error is None
        assert opened.log.startswith(data)
        assert opened.rejected == ([torn] if torn else [])
        added = [decoded(line)["type"] for line in opened.log[len(data) :].splitlines()]
        assert added == (["log_repaired", "human_response"] if torn else ["human_response"])
        assert not bench.reported()


def test_a_run_cut_inside_its_last_line_opens_with_the_state_before_it(tmp_path: Path) -> None:
    paths = filled_run(tmp_path)
    *entries, last = lines_of(paths)
    for size in range(1, len(last), 9):
        paths.events.write_bytes(b"".join(entries) + last[:size])
        run = open_run(paths.root, ports_in(tmp_path))
        assert [event.payload for event in read_verified(paths, keys_in(tmp_path))][2:-1] == sample_events()[:-1]
        assert run.state.last_seq == len(entries)
        run.close()


@pytest.fixture(scope="module")
def small(directory: Path) -> Bench:
    """The smallest log there is: every bit of it can be tried."""
    paths = RunPaths(directory / "small")
    for name in SUBDIRECTORIES:
        (paths.root / name).mkdir(parents=True)
    ports = ports_in(directory)
    log, lock = create_log(str(paths.root), paths, RUN_ID, ports)
    key_id = ports.keys.current().id
    born = {"schema": LOG_SCHEMA, "key_id": key_id, "session_id": "s", "task_id": "t", "profile_id": "p"}
    log.append(msgspec.convert(born | {"config_fingerprint": "f"}, RunCreated))
    log.append(HumanRequest(call_id="c", question="ü?"))
    log.append(HumanResponse(call_id="c", answer="yes"))
    log.append(HumanResponse(call_id="d"))
    log.close()
    lock.release()
    return Bench(paths, ports)


def flips(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Every way to change one bit: the place of the byte, and the result."""
    for index in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[index] ^= 1 << bit
            yield index, bytes(changed)


def test_every_changed_bit_is_noticed_and_the_changed_line_is_never_honoured(small: Bench) -> None:
    starts = [sum(map(len, small.lines[:number])) for number in range(len(small.lines) + 1)]
    for index, changed in flips(small.whole):
        line = next(number for number in range(len(small.lines)) if index < starts[number + 1])
        before = small.lines[:line]
        opened = small.open_with(changed)
        small.paths.events.write_bytes(changed)
        assert small.reported(), index
        if opened.error is None:
            # Only the end may be set aside: the last line, and the one before if its newline no longer parts them.
            newline_before_last = index == starts[-2] - 1
            assert line == len(small.lines) - 1 or newline_before_last, index
            assert opened.log.startswith(b"".join(before))
            assert opened.rejected == [changed[starts[line] :]]
        if not isinstance(opened.error, KeyMissing):
            assert small.honoured() in ([], [seal_of(one) for one in before]), index


def test_a_changed_bit_is_refused_by_opening_the_run_unless_it_is_at_the_very_end(bench: Bench) -> None:
    last = len(bench.whole) - len(bench.lines[-1])
    for index in range(0, len(bench.whole), 5):
        changed = bytearray(bench.whole)
        changed[index] ^= 1 << (index % 8)
        opened = bench.open_with(bytes(changed))
        assert (opened.error is None) == (index >= last), index


def rearranged(lines: list[bytes]) -> Iterator[tuple[str, list[bytes], int]]:
    """Ways to rearrange lines: a name, the result, and how many lines at the beginning are untouched."""
    for index in range(len(lines)):
        yield f"{index} twice", [*lines[: index + 1], *lines[index:]], index + 1
        yield f"without {index}", [*lines[:index], *lines[index + 1 :]], index
        for other in range(index + 1, len(lines)):
            swapped = [*lines]
            swapped[index], swapped[other] = lines[other], lines[index]
            yield f"{index} and {other} swapped", swapped, index
    yield "all twice", lines + lines, len(lines)
    yield "backwards", lines[::-1], 0


def test_rearranged_lines_are_never_honoured(bench: Bench) -> None:
    for name, lines, sound in rearranged(bench.lines):
        opened = bench.open_with(b"".join(lines))
        bench.paths.events.write_bytes(b"".join(lines))
        if name == f"without {len(bench.lines) - 1}":
            assert opened.error is None, "a log that is shorter by whole lines is a sound log; the ledger knows better"
            continue
        assert bench.reported(), name
        assert bench.honoured() in ([], [seal_of(line) for line in bench.lines[:sound]]), name
        if opened.error is None:
            assert opened.log.startswith(b"".join(bench.lines[:sound])), name
            assert opened.rejected == [b"".join(lines[sound:])], name
        if len(lines) - sound > 2 and sound:
            assert isinstance(opened.error, LogCorrupt), name


def forged_line(seq: int, secret: bytes, head: bytes) -> bytes:
    """A line as somebody who has read ours, but not our key, would make it."""
    body = (
        f'{{"seq":{seq},"type":"human_response","timestamp":"2026-01-01T00:00:00.000099Z","run_id":"{RUN_ID}",'
        f'"payload":{{"call_id":"call_9","answer":"yes"}},"epoch":1'
    ).encode()
    return body + b',"mac":"' + Chain(secret, head).seal(body) + b'"}\n'


def test_a_line_that_was_forged_and_appended_is_set_aside(bench: Bench) -> None:
    seq = len(bench.lines)
    forged = forged_line(seq, b"guessed", seal_of(bench.lines[-1]))
    opened = bench.open_with(bench.whole + forged + forged_line(seq + 1, b"guessed", seal_of(forged)))
    assert opened.error is None
    assert opened.log.startswith(bench.whole)
    assert b"call_9" not in opened.log
    assert len(opened.rejected) == 1


def test_a_line_that_was_forged_and_inserted_is_refused(bench: Bench) -> None:
    for index in range(1, len(bench.lines) - 1):
        forged = forged_line(index, b"guessed", seal_of(bench.lines[index - 1]))
        opened = bench.open_with(b"".join([*bench.lines[:index], forged, *bench.lines[index:]]))
        assert isinstance(opened.error, LogCorrupt), index
        assert opened.error.details["seq"] == index


def test_lines_of_another_run_under_the_same_key_are_not_honoured(bench: Bench, directory: Path) -> None:
    other = lines_of(filled_run(directory, run_id="run_other"))
    for index in range(1, len(bench.lines)):
        opened = bench.open_with(b"".join([*bench.lines[:index], *other[index:]]))
        assert b"run_other" not in opened.log or isinstance(opened.error, LogCorrupt)


def test_a_line_that_is_not_json_is_reported_with_its_number(bench: Bench) -> None:
    lines = [*bench.lines[:6], b"\x00" * 300 + b"\n", *bench.lines[7:]]
    opened = bench.open_with(b"".join(lines))
    assert isinstance(opened.error, LogCorrupt)
    assert opened.error.message == "line 7 of the log is not a complete event line"


FOREIGN = [b"x", b"\n", b"{}\n", b"x" * 5000, forged_line(4, b"guessed", b"0" * 32)]


@pytest.mark.parametrize("foreign", FOREIGN, ids=["byte", "newline", "object", "block", "line"])
def test_a_writer_stops_when_another_process_writes_to_its_log(foreign: bytes, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.append(HumanRequest(call_id="c"))
    run.append(HumanResponse(call_id="c"))
    run.commit()
    sound = run.paths.events.read_bytes()
    with run.paths.events.open("ab") as file:
        file.write(foreign)
    for _ in range(2):
        with pytest.raises(StorageFailed, match="another process"):
            run.append(HumanResponse(call_id="never honoured"))
        with pytest.raises(StorageFailed):
            run.commit()
    run.close()
    assert run.paths.events.read_bytes() == sound + foreign
    again = open_run(run.paths.root, ports_in(tmp_path))
    assert [event.seq for event in read_verified(run.paths, keys_in(tmp_path))] == [0, 1, 2, 3, 4]
    assert msgspec.json.decode(lines_of(run.paths)[4])["type"] == "log_repaired"
    assert [path.read_bytes() for path in run.paths.logs.glob("rejected-*")] == [foreign]
    again.close()


def test_bytes_appended_by_another_process_are_ignored(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with run.paths.events.open("ab") as file:
        file.write(forged_line(2, b"guessed", seal_of(lines_of(run.paths)[-1])))
    run.commit()
    run.close()
    assert [event.seq for event in read_verified(run.paths, keys_in(tmp_path))] == [0, 1]
