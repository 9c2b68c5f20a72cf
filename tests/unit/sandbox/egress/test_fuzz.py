"""Whatever the bytes are, the parsers neither fail nor find a host that they were not given."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skills_runtime.errors import ValidationFailed
from skills_runtime.sandbox.egress import EgressPolicy, Host, Refused, allow_rule, canonical_host, decide, egress_policy
from skills_runtime.sandbox.egress.http_messages import parse_chunk_size, parse_request, parse_response
from skills_runtime.sandbox.egress.proxy import parse_greeting, parse_socks_request
from skills_runtime.sandbox.egress.rules import Authority, Incomplete, Parsed, split_authority
from skills_runtime.sandbox.egress.tunnel import parse_server_name
from tests.unit.sandbox.egress.hellos import message, record, server_name

POLICY = egress_policy(allow=["allowed.test", "*.allowed.test"])
PARSERS: dict[str, Callable[[bytes], Any]] = {
    "request": lambda data: parse_request(data, 500),
    "inner": lambda data: parse_request(data, 500, Authority(Host("allowed.test"), 80)),
    "response": lambda data: parse_response(data, 500, "GET"),
    "chunk": parse_chunk_size,
    "greeting": parse_greeting,
    "socks": parse_socks_request,
    "hello": parse_server_name,
}
NASTY = st.text(st.sampled_from("aA1.-xn0:[]@%/\\\0 \t\r\n*_é。１\u212a\u200d"), max_size=30)
HEAD = st.lists(
    st.sampled_from(
        [b"GET ", b"CONNECT ", b"http://", b"allowed.test", b"evil.test", b":443", b" HTTP/1.1", b"\r\n", b"\n",
        b"\r", b" ", b"\0",
         b"Host: ", b"Content-Length: 1", b"Transfer-Encoding: chunked", b"@", b"/", b"#", b"\t"]
    ),
    max_size=20,
).map(b"".join)  # fmt: skip
HELLO = record(message(server_name(b"allowed.test")))


@given(st.one_of(st.text(max_size=300), NASTY))
@example("xn--" + "9" * 59)
@example("a" * 100_000)
def test_a_host_is_canonical_or_refused(text: str) -> None:
    host = canonical_host(text)
    if isinstance(host, Host):
        assert canonical_host(host.text) == host
        assert host.text.isascii()
        assert not set(host.text) - set("abcdefghijklmnopqrstuvwxyz0123456789.-[]:")
    else:
        assert isinstance(host, Refused)


@given(st.one_of(st.text(max_size=60), NASTY))
def test_nothing_is_allowed_but_the_names_of_the_rules(text: str) -> None:
    found = split_authority(text, 443)
    if isinstance(found, Authority) and decide(POLICY, found.host, found.port).outcome == "allow":
        assert found.host.text == "allowed.test" or found.host.text.endswith(".allowed.test")
        assert text.lower().removesuffix(":80").removesuffix(":443").removesuffix(".").endswith("allowed.test")


@given(st.one_of(st.text(max_size=60), NASTY))
def test_a_rule_is_made_or_refused_and_an_empty_policy_allows_nothing(text: str) -> None:
    host = canonical_host(text)
    if isinstance(host, Host):
        assert decide(EgressPolicy(), host, 443).outcome != "allow"
    try:
        rule = allow_rule(text)
    except ValidationFailed:
        return
    assert allow_rule(rule.text) == rule


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS.keys())
@given(st.one_of(st.binary(max_size=600), HEAD))
def test_a_parser_answers_whatever_it_is_given(parse: Callable[[bytes], Any], data: bytes) -> None:
    found = parse(data)
    assert isinstance(found, Parsed | Incomplete | Refused)
    if isinstance(found, Parsed):
        assert 0 < found.consumed <= len(data)  # pyright: ignore[reportUnknownMemberType]
        assert parse(data[: found.consumed]) == found


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS.keys())
@given(st.one_of(st.binary(max_size=200), HEAD), st.binary(max_size=50))
def test_more_bytes_never_change_an_answer(parse: Callable[[bytes], Any], data: bytes, more: bytes) -> None:
    found = parse(data)
    if isinstance(found, Parsed):
        assert parse(data + more) == found
    if isinstance(found, Refused):
        assert isinstance(parse(data + more), Refused)


@given(st.integers(0, len(HELLO) - 1), st.integers(0, 255))
def test_a_hello_with_one_byte_changed_names_no_allowed_server_unless_it_says_so(at: int, value: int) -> None:
    data = HELLO[:at] + bytes((value,)) + HELLO[at + 1 :]
    found = parse_server_name(data)
    if isinstance(found, Parsed) and found.value == Host("allowed.test"):
        assert b"allowed.test" in data.lower()


NAMES = st.sampled_from(
    [b"allowed.test", b"evil.test", b"ALLOWED.test.", b"allowed.test:80", b"allowed.test@evil.test"]
)
EXTRA = st.lists(
    st.sampled_from(
        [
            b"Host: evil.test",
            b"Host: allowed.test",
            b"Content-Length: 1",
            b"Transfer-Encoding: chunked",
            b" folded",
            b"X: 1",
        ]
    ),
    max_size=3,
)


@given(NAMES, NAMES, EXTRA)
def test_a_request_that_passes_says_only_one_thing(target: bytes, host: bytes, extra: list[bytes]) -> None:
    found = parse_request(b"\r\n".join([b"GET http://%s/ HTTP/1.1" % target, b"Host: " + host, *extra, b"", b""]), 500)
    assert not isinstance(found, Incomplete)
    if isinstance(found, Parsed):
        name = found.value.authority.host.text.encode()
        assert all(one.lower().removesuffix(b":80").removesuffix(b".") == name for one in (target, host))
        assert set(extra) <= {b"X: 1", b"Content-Length: 1"} or set(extra) <= {b"X: 1", b"Transfer-Encoding: chunked"}
