"""The server name in the first message of TLS, found only where it is beyond doubt."""

import pytest

from skills_runtime.sandbox.egress.rules import Host, Incomplete, Parsed, Refused
from skills_runtime.sandbox.egress.tunnel import parse_server_name
from tests.unit.sandbox.egress.hellos import extension, fragmented, message, real_hello, record, server_name

NAMED = message(server_name(b"example.com"))


@pytest.mark.parametrize("name", ["example.com", "a.b.example.com", "xn--bcher-kva.example"])
def test_the_name_in_a_real_hello_is_found(name: str) -> None:
    data = real_hello(name)
    assert parse_server_name(data) == Parsed(Host(name), len(data))


@pytest.mark.parametrize("size", [180, 16, 100, 10_000])
def test_a_hello_may_come_in_many_records(size: int) -> None:
    data = fragmented(real_hello("example.com")[5:], size) if size > 16 else fragmented(NAMED, size)
    assert parse_server_name(data) == Parsed(Host("example.com"), len(data))


def test_what_follows_the_hello_is_left_alone() -> None:
    data = record(NAMED)
    assert parse_server_name(data + record(b"\x01", kind=20)) == Parsed(Host("example.com"), len(data))


def test_a_hello_that_has_not_arrived_is_waited_for() -> None:
    data = fragmented(real_hello("example.com")[5:], 100)
    assert all(parse_server_name(data[:length]) == Incomplete() for length in range(len(data)))


def test_the_spelling_of_the_name_does_not_matter() -> None:
    data = record(message(server_name(b"EXAMPLE.com")))
    assert parse_server_name(data) == Parsed(Host("example.com"), len(data))


HOSTILE = {
    "no name": record(message()),
    "no extensions": record(b"\x01\x00\x00\x29\x03\x03" + bytes(32) + b"\0\x00\x02\x13\x01\x01\0"),
    "encrypted": record(message(server_name(b"example.com"), extension(0xFE0D, b"\0" * 20))),
    "encrypted, older": record(message(server_name(b"example.com"), extension(0xFFCE, b"\0" * 20))),
    "two extensions": record(message(server_name(b"example.com"), server_name(b"evil.test"))),
    "two names": record(message(extension(0, b"\0\x1a\0\0\x0bexample.com\0\0\x09evil.test"))),
    "empty list": record(message(extension(0, b"\0\0"))),
    "empty extension": record(message(extension(0, b""))),
    "empty name": record(message(server_name(b""))),
    "other kind": record(message(server_name(b"example.com", kind=1))),
    "NUL": record(message(server_name(b"example.com\0.evil.test"))),
    "not ASCII": record(message(server_name("exämple.com".encode()))),
    "space": record(message(server_name(b"example.com "))),
    "odd address": record(message(server_name(b"0x7f.1"))),
    "too long": record(message(server_name(b"a" * 254))),
    "name beyond the list": record(message(extension(0, b"\0\x05\0\0\x0bexample.com"))),
    "list beyond the extension": record(message(extension(0, b"\0\xff\0\0\x0bexample.com"))),
    "extension beyond the message": record(message(b"\0\0\0\xff\0\x0e\0\0\x0bexample.com")),
    "bytes after the extensions": record(message(server_name(b"example.com"), tail=b"\0")),
    "bytes after the message": record(NAMED + b"\x0e\0\0\0"),
    "two hellos": record(NAMED + NAMED),
    "server hello": record(b"\x02" + NAMED[1:]),
    "alert": record(b"\x02\x28", kind=21),
    "data": record(NAMED, kind=23),
    "version": record(NAMED, version=b"\x02\x00"),
    "empty record": record(b"") + record(NAMED),
    "empty record inside": record(NAMED[:20]) + record(b"") + record(NAMED[20:]),
    "other record inside": record(NAMED[:20]) + record(b"\x01", kind=20) + record(NAMED[20:]),
    "huge record": b"\x16\x03\x01\xff\xff",
    "huge message": record(b"\x01\xff\xff\xff"),
    "many records": fragmented(NAMED, 1),
    "odd cipher suites": record(b"\x01\x00\x00\x2a\x03\x03" + bytes(32) + b"\0\x00\x03\x13\x01\x01\x01\0"),
    "long session": record(b"\x01\x00\x00\x2a\x03\x03" + bytes(32) + b"\x21\x00\x03\x13\x01\x01\x01\0"),
    "SSL 2": b"\x80\x2e\x01\x00\x02",
    "HTTP": b"GET / HTTP/1.1\r\n",
    "SSH": b"SSH-2.0-OpenSSH\r\n",
    "zeros": bytes(100),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hello_that_hides_its_name_or_is_not_one_is_refused(data: bytes) -> None:
    assert isinstance(parse_server_name(data), Refused)


def test_a_real_hello_without_a_name_is_refused() -> None:
    refused = parse_server_name(real_hello(None))
    assert isinstance(refused, Refused)
    assert refused.kind == "name_mismatch"
