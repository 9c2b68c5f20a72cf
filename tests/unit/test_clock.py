"""The real clock tells the right time, to many threads at once."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from skills_runtime.clock import RandomIds, SystemClock
from tests.support.runs import switching_often


def test_the_time_is_now_in_utc_with_microseconds() -> None:
    before = datetime.now(UTC)
    told = datetime.fromisoformat(SystemClock().now())
    assert before - timedelta(microseconds=1) <= told <= datetime.now(UTC)


def test_threads_that_share_a_clock_are_told_the_right_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    read = threading.local()

    def time_ns() -> int:
        read.time = random.choice([10_999_999_000, 11_000_000_000])
        return read.time

    def wrong_answers(_: int) -> list[str]:
        answers = [(clock.now(), read.time) for _ in range(4000)]
        return [told for told, at in answers if (told[18] == "1") != (at == 11_000_000_000)]

    monkeypatch.setattr(time, "time_ns", time_ns)
    with switching_often(), ThreadPoolExecutor(8) as pool:
        assert [wrong for answers in pool.map(wrong_answers, range(8)) for wrong in answers] == []


def test_later_ids_sort_after_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    ids: list[str] = []
    for milliseconds in (1, 2, 1_700_000_000_000, 1_700_000_000_001):
        monkeypatch.setattr(time, "time_ns", lambda at=milliseconds: at * 1_000_000)
        ids.append(RandomIds().new("run"))
    assert ids == sorted(ids)
