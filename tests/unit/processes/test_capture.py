import hashlib
import random

import pytest

from skills_runtime.processes.capture import Capture, Captured


def captured(data: bytes, *, limit: int, pieces: int = 1) -> Captured:
    capture = Capture(limit)
    step = max(1, -(-len(data) // pieces))
    for start in range(0, len(data), step):
        capture.feed(data[start : start + step])
    return capture.snapshot()


def test_a_short_stream_is_kept_whole() -> None:
    kept = captured(b"abcdef", limit=6)
    assert (kept.head + kept.tail, kept.total, kept.left_out) == (b"abcdef", 6, 0)


def test_of_a_long_stream_the_first_and_the_last_half_are_kept() -> None:
    kept = captured(b"0123456789", limit=4)
    assert (kept.head, kept.tail, kept.total, kept.left_out) == (b"01", b"89", 10, 6)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 999, 1000, 1001])
@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_how_a_stream_is_cut_into_pieces_changes_nothing(limit: int, pieces: int) -> None:
    data = random.Random(limit).randbytes(1000)
    kept = captured(data, limit=limit, pieces=pieces)
    assert len(kept.head) + len(kept.tail) == min(limit, 1000)
    assert data.startswith(kept.head)
    assert data.endswith(kept.tail)
    assert kept.sha256 == hashlib.sha256(data).hexdigest()


def test_the_digest_covers_what_was_left_out() -> None:
    assert captured(b"x" * 100 + b"y", limit=4).sha256 != captured(b"x" * 99 + b"yy", limit=4).sha256


def test_what_is_captured_so_far_does_not_change_later() -> None:
    capture = Capture(4)
    capture.feed(b"abcd")
    before = capture.snapshot()
    capture.feed(b"efgh")
    assert before.head + before.tail == b"abcd"
    assert capture.snapshot().tail == b"gh"


def test_the_text_of_a_whole_stream_has_no_gap() -> None:
    assert captured("naïve ☃".encode(), limit=100).text() == "naïve ☃"


def test_the_text_marks_the_gap() -> None:
    assert captured(b"begin" + b"." * 12_345 + b"ended", limit=10).text() == "begin\n… 12345 bytes left out …\nended"


def test_a_character_that_spans_head_and_tail_is_whole() -> None:
    assert captured("ab☃cd".encode(), limit=7).text() == "ab☃cd"


def test_a_cut_inside_a_character_shows_no_damage() -> None:
    text = captured("☃☃☃☃☃☃".encode(), limit=10).text()
    assert text == "☃\n… 8 bytes left out …\n☃"


def test_bytes_that_are_not_text_are_replaced() -> None:
    assert captured(b"a\xff\xfeb", limit=100).text() == "a\ufffd\ufffdb"


def test_a_gap_in_bytes_that_are_not_text_loses_none_of_them() -> None:
    text = captured(b"\x80" * 20, limit=10).text()
    assert text.count("\ufffd") == 10
