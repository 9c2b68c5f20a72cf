"""SOCKS5: the greeting and the one command."""

import pytest

from skills_runtime.sandbox.egress.proxy import parse_greeting, parse_socks_request, render_socks_reply
from skills_runtime.sandbox.egress.rules import Incomplete, Parsed, Refused


def named(name: bytes, port: int = 443) -> bytes:
    return b"\x05\x01\x00\x03" + bytes((len(name),)) + name + port.to_bytes(2, "big")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (named(b"example.com"), "example.com:443"),
        (named(b"EXAMPLE.com."), "example.com:443"),
        (named(b"127.0.0.1", 80), "127.0.0.1:80"),
        (b"\x05\x01\x00\x01\x7f\0\0\x01\0\x50", "127.0.0.1:80"),
        (b"\x05\x01\x00\x04" + bytes(15) + b"\x01\0\x50", "[::1]:80"),
    ],
)
def test_a_request_is_understood_and_waited_for(data: bytes, text: str) -> None:
    found = parse_socks_request(data + b"more")
    assert isinstance(found, Parsed)
    assert (found.value.text, found.consumed) == (text, len(data))
    assert all(parse_socks_request(data[:length]) == Incomplete() for length in range(len(data)))


@pytest.mark.parametrize(
    "data",
    [
        b"\x04\x01\x00\x50\x7f\0\0\x01\0", b"\x05\x02\x00\x01", b"\x05\x03\x00\x01", b"\x05\x00", b"\x05\x01\x01",
        b"\x05\x01\x00\x02",
        b"\x05\x01\x00\x00", b"\x05\x01\x00\x05", b"GET / HTTP/1.1", named(b""), named(b"example.com", 0),
        named(b"example.com\0"),
        named(b"example.com\0.evil.test"), named(b"evil.test\0example.com"), named("exämple.com".encode()),
        named(b"\xff"), named(b"user@example.com"),
        named(b"example.com:443"), named(b"::1"), named(b"[fe80::1%eth0]"), named(b"2130706433"), named(b"0x7f.1"),
        named(b"127.1"),
        named(b"0177.0.0.1"), named(b"a" * 255), named(b"example.com "), named(b"*.example.com"),
        named(b"http://example.com"), named(b"%65xample.com"),
        b"\x05\x01\x00\x01\x7f\0\0\x01\0\0",
    ],
    ids=ascii,
)  # fmt: skip
def test_a_hostile_request_is_refused(data: bytes) -> None:
    assert isinstance(parse_socks_request(data), Refused)


@pytest.mark.parametrize(
    ("data", "able"), [(b"\x05\x01\x00", True), (b"\x05\x02\x02\x00", True), (b"\x05\x01\x02", False)]
)
def test_a_greeting_says_whether_a_login_is_needed(data: bytes, able: bool) -> None:
    assert parse_greeting(data + b"\x05") == Parsed(able, len(data))
    assert parse_greeting(data[:-1]) == Incomplete()


@pytest.mark.parametrize("data", [b"\x04", b"\x05\x00", b"\x00", b"\x16\x03\x01"])
def test_a_hostile_greeting_is_refused(data: bytes) -> None:
    assert isinstance(parse_greeting(data), Refused)


def test_a_reply_tells_a_rule_from_a_failure() -> None:
    assert render_socks_reply(None)[1] == 0
    assert render_socks_reply(Refused("not_allowed", "no"))[1] == 2
    assert render_socks_reply(Refused("unreachable", "no"))[1] == 4
    assert render_socks_reply(Refused("request_invalid", "no"))[1] == 1
