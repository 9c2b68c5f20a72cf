"""What is kept of a log is bounded, and whoever is behind it reads the file instead."""

import asyncio
import os
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from skills_runtime.engine.log_tail import Frame, build_frame
from skills_runtime.errors import LogCorrupt, RequestConflict
from skills_runtime.service.streams import LogTail, Streams
from skills_runtime.service.streams import log_stream as stream
from skills_runtime.service.streams.log_stream import RecentFrames
from tests.support.runs import new_run, sample_events
from tests.unit.service.served import messages_in


def frames(first: int, count: int, size: int = 10) -> list[Frame]:
    return [build_frame(seq, "plan_updated", b"x" * size) for seq in range(first, first + count)]


@given(some.lists(some.integers(1, 30), max_size=20), some.integers(0, 5), some.data())
def test_from_any_place_that_is_kept_everything_follows_once(
    sizes: list[int], first: int, data: some.DataObject
) -> None:
    kept, seq = RecentFrames(first, limit=400), first
    for size in sizes:
        kept.add(frames(seq, size))
        seq += size
    start = data.draw(some.integers(0, seq + 3))
    batch = kept.since(start)
    if start < kept.first:
        assert batch is None
        return
    assert batch is not None
    seen: list[int] = []
    while batch is not None and batch.data:
        seen += [message.id for message in messages_in(batch.data.decode())]
        batch = kept.since(batch.next_seq)
    assert seen == list(range(start, seq))


def test_no_more_is_kept_than_the_limit() -> None:
    kept = RecentFrames(0, limit=1000)
    kept.add(frames(0, 500))
    assert kept.since(0) is None
    batch = kept.since(kept.first)
    assert batch is not None
    assert len(batch.data) <= 1000


def test_a_line_cannot_add_fields_to_a_message() -> None:
    frame = build_frame(3, "evil\nid: 99", b'{"a":\r1}')
    assert frame.text == b'id: 3\nevent: message\ndata: {"a": 1}\n\n'


def test_a_torn_line_waits_until_it_is_whole(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    tail = LogTail(run.paths)
    before = len(tail.read())
    line = run.paths.events.read_bytes().splitlines(keepends=True)[-1].replace(b'"seq":1', b'"seq":2')
    with run.paths.events.open("ab", buffering=0) as file:
        file.write(line[:20])
        assert tail.read() == []
        file.write(line[20:])
    assert [frame.seq for frame in tail.read()] == [before]
    tail.close()
    run.close()


def test_a_log_that_became_shorter_is_not_followed(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    tail = LogTail(run.paths)
    tail.read()
    os.truncate(run.paths.events, 10)
    with pytest.raises(LogCorrupt, match="shorter"):
        tail.read()
    tail.close()
    run.close()


async def test_a_slow_reader_reads_the_file_and_misses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "RecentFrames", partial(RecentFrames, limit=1))
    run, streams, payload = new_run(tmp_path), Streams(), sample_events()[0]
    quick, slow = streams.listen(run.paths), streams.listen(run.paths)
    seen = {"quick": (await quick.next()).decode(), "slow": (await slow.next()).decode()}
    waiting = asyncio.create_task(slow.next())
    for number in range(50):
        run.append(payload)
        if number == 0:
            seen["slow"] += (await waiting).decode()
    while len(messages_in(seen["quick"])) < run.log.next_seq:
        seen["quick"] += (await quick.next()).decode()
    while len(messages_in(seen["slow"])) < run.log.next_seq:
        seen["slow"] += (await slow.next()).decode()
    lines = run.paths.events.read_text().splitlines()
    assert [message.data for message in messages_in(seen["quick"])] == lines
    assert [message.data for message in messages_in(seen["slow"])] == lines
    quick.close()
    slow.close()
    assert streams.listeners == streams.readers == 0
    await streams.close()
    run.close()


async def test_a_future_sequence_number_is_refused_and_no_reader_is_counted(tmp_path: Path) -> None:
    run, streams = new_run(tmp_path), Streams()
    with pytest.raises(RequestConflict):
        streams.listen(run.paths, from_seq=100)
    assert streams.listeners == 0
    run.close()
