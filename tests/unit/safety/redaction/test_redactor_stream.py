"""Text that comes in pieces: a secret never gets out, and nothing waits that could not be one."""

import base64
import json
from urllib.parse import quote

import pytest

from skills_runtime.safety.redaction import MARK, Redactor
from skills_runtime.safety.redaction.redactor import MAX_PENDING

SECRET = "s3cr3t-value"


def _streamed(redactor: Redactor, *chunks: str) -> list[str]:
    stream = redactor.stream()
    return [*map(stream.feed, chunks), stream.finish()]


def test_what_cannot_be_a_secret_goes_out_at_once() -> None:
    assert _streamed(Redactor([SECRET]), "hello world", ", how are you?") == ["hello world", ", how are you?", ""]


def test_only_the_possible_beginning_of_a_secret_waits() -> None:
    assert _streamed(Redactor([SECRET]), "say s3cr", "et word.") == ["say ", "s3cret word.", ""]


def test_a_secret_in_single_letters_is_marked_when_it_is_whole() -> None:
    out = _streamed(Redactor([SECRET]), *f"a{SECRET}b")
    assert "".join(out) == f"a{MARK}b"
    assert out.index(MARK) == len(SECRET)


def test_a_secret_that_never_ends_goes_out_with_the_end() -> None:
    assert _streamed(Redactor([SECRET]), "x s3cr3t-val") == ["x ", "s3cr3t-val"]


def test_the_longer_secret_is_waited_for() -> None:
    redactor = Redactor(["abc123", "abc123def456"])
    assert _streamed(redactor, "abc123", "def456!") == ["", f"{MARK}!", ""]
    assert _streamed(redactor, "abc123", "xyz!") == ["", f"{MARK}xyz!", ""]


@pytest.mark.parametrize("written", [json.dumps(json.dumps("s3cr\n3t value")), quote(quote("s3cr\n3t value"))])
def test_an_escaped_secret_may_be_cut_anywhere(written: str) -> None:
    redactor, text = Redactor(["s3cr\n3t value"]), f"x {written} y"
    hidden = redactor.text(text)
    assert MARK in hidden
    assert "3t" not in hidden
    for cut in range(1, len(text)):
        assert "".join(_streamed(redactor, text[:cut], text[cut:])) == hidden


def test_a_colour_may_be_cut_anywhere() -> None:
    text = "x s3cr\x1b[1;31m3t-v\\u001b[0malue y"
    for cut in range(1, len(text)):
        assert "".join(_streamed(Redactor([SECRET]), text[:cut], text[cut:])) == f"x {MARK} y"


def test_a_key_waits_until_it_ends() -> None:
    out = _streamed(Redactor(), "use sk-abc123", "def456ghi", "789jkl, please")
    assert out == ["use ", "", f"{MARK}, please", ""]


def test_a_word_that_went_out_in_parts_is_not_taken_for_a_key() -> None:
    text = "ta" + "sk-abc123def456ghi789" * 40
    assert "".join(_streamed(Redactor(), *text)) == text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "\\r\\n", "\nL12: ", "\\nL12: "])
def test_base64_may_be_cut_where_its_lines_end(end: str) -> None:
    letters = base64.b64encode(SECRET.encode()).decode()
    text = f"<{letters[:2]}{end}{letters[2:3]}{end}{letters[3:]}>"
    for cut in range(1, len(text)):
        assert "".join(_streamed(Redactor([SECRET]), text[:cut], text[cut:])) == f"<{MARK}>"


def test_a_secret_that_begins_within_a_key_is_taken_out_with_it() -> None:
    text = "http://u:xpw@host-s3cr3t and http://u:xpw@host-other"
    for cut in range(1, len(text)):
        out = "".join(_streamed(Redactor(["pw@host-s3cr3t"]), text[:cut], text[cut:]))
        assert out == f"http://u:{MARK} and http://u:{MARK}@host-other"


def test_a_password_is_known_by_what_went_out_before() -> None:
    out = _streamed(Redactor(), "postgres://app:", "hunt", "er2", "@db/.")
    assert out == ["postgres://app:", "", "", f"{MARK}@db/.", ""]


def test_the_halves_of_a_character_may_be_cut_apart() -> None:
    assert "".join(_streamed(Redactor(["🙂🙂🙂🙂"]), "a🙂🙂\ud83d", "\ude42🙂b")) == f"a{MARK}b"


@pytest.mark.parametrize("begin", ["-----BEGIN PRIVATE KEY-----\n", "sk-abc123def456ghi789", "PASSWORD=abc12345"])
def test_a_key_without_end_is_swallowed_and_not_collected(begin: str) -> None:
    redactor = Redactor([SECRET])
    stream = redactor.stream()
    out = stream.feed(f"x {begin}")
    for _ in range(200):
        out += stream.feed("MIIEabcdefgh" * 50)
    assert out == ("x PASSWORD=" if "=" in begin else "x ") + MARK
    assert sum(len(held) for held in vars(stream).values() if isinstance(held, bytes)) < 2 * MAX_PENDING
    assert stream.feed("\n!rest " + SECRET) + stream.finish() == "\n!rest " + MARK


def test_what_may_be_a_key_for_too_long_is_taken_for_one() -> None:
    out = _streamed(Redactor(), "http://a:" + "b" * (MAX_PENDING + 10), " and on")
    assert "".join(out) == f"http://a:{MARK} and on"


def test_a_long_known_secret_waits_for_as_long_as_it_is() -> None:
    secret = "".join(f"{number}-" for number in range(2000))
    out = _streamed(Redactor([secret]), *(secret[place : place + 500] for place in range(0, len(secret), 500)), "!")
    assert "".join(out) == f"{MARK}!"
