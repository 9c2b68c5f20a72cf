"""One spelling for every host: what is canonical, and what is refused."""

import pytest

from skills_runtime.sandbox.egress import Host, Refused, canonical_host
from skills_runtime.sandbox.egress.rules import Authority, split_authority

CANONICAL = {
    "example.com": "example.com",
    "EXAMPLE.Com": "example.com",
    "example.com.": "example.com",
    "localhost": "localhost",
    "a-b.example.com": "a-b.example.com",
    "r3---sn-abc.example.com": "r3---sn-abc.example.com",
    "0x7f.example.com": "0x7f.example.com",
    "1.example": "1.example",
    "bücher.example": "xn--bcher-kva.example",
    "xn--bcher-kva.example": "xn--bcher-kva.example",
    "XN--BCHER-KVA.example": "xn--bcher-kva.example",
    "straße.example": "xn--strae-oqa.example",
    "127.0.0.1": "127.0.0.1",
    "0.0.0.0": "0.0.0.0",
    "[::1]": "[::1]",
    "[2001:DB8:0:0::1]": "[2001:db8::1]",
    ("a" * 63 + ".") * 3 + "b" * 61: ("a" * 63 + ".") * 3 + "b" * 61,
}

HOSTILE = [
    # nothing, or not enough
    "", ".", "..", ".example.com", "example..com", "example.com..", "-example.com", "example-.com", "a.-b.com",
    # characters that end, begin or hide something
    "example.com\0.evil.test", "example.com\0", "\0", "example.com ", " example.com", "exa mple.com", "example.com\t",
    "example.com\r\nHost: evil.test", "example.com\n", "example.com\x7f", "example.com\x0b", "example.com\x85",
    "user@example.com", "user:pass@example.com", "example.com@evil.test", "evil.test#@example.com",
    "example.com/evil", "example.com\\evil", "evil.test\\@example.com", "example.com?x", "example.com#x",
    "example.com;x",
    "example.com,evil.test", "example.com&x", "example.com=x", "example.com|x", "example.com`x", "example.com$x",
    "exam_ple.com", "_dmarc.example.com", "*.example.com", "*", "example.com:80", "http://example.com", "'example.com'",
    '"example.com"', "<example.com>", "{example.com}", "(example.com)", "example.com!", "example.com~", "^example.com",
    # percent signs
    "example%2ecom", "example.com%00", "%65xample.com", "127.0.0.1%2f", "%31%32%37.0.0.1",
    # numbers that some programs take for addresses
    "2130706433", "0x7f000001", "017700000001", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.01", "127.0.0.001", "00.0.0.0",
    "127.1", "127.0.1", "1.2.3.4.5", "256.1.1.1", "1.2.3.256", "999999999999", "127.0.0.1.", "127.0.0.0x1", "0x",
    "0", "1.2.3.0x", "example.0x1f", "example.123", "0X7F000001", "169.254.43518", "4294967296", "-1", "+127.0.0.1",
    # other writing systems that look like, or are mapped to, something else
    "１２７.0.0.1", "127。0。0。1", "example。com", "example．com", "example｡com", "ｅｘａｍｐｌｅ.com", "①②⑦.0.0.1",
    "١٢٧.0.0.1", "१२७.0.0.1", "example१.com", "ex\u00adample.com", "ex\u200bample.com", "ex\u200dample.com",
    "\u202eexample.com", "example.com\u2028", "example.com\u00a0", "\ufeffexample.com", "\u212aelvin.com",
    "İstanbul.com",
    "BÜCHER.example", "a\u0301.example", "ﬁ.example", "℀.example", "example\u2024com", "a\u2044b.example", "💩.example",
    "\ud800.example",
    # international names that are not what they say
    "xn--", "xn--.com", "xn--a.com", "xn--example.com", "xn--example-.com", "xn--a-ecp.ru", "xn--0.com",
    "xn--zzzzzzzzzzzz.com",
    "xn--bcher-KVA1.example", "xn--\0.com", "xn--fiq228c5hs-.com", "xn--999999999.com",
    # too long
    "a" * 64 + ".com", "a." * 128, "a" * 254, "a." * 5000 + "com", "ü" * 63 + ".com", ("a" * 63 + ".") * 3 + "b" * 62,
    # brackets
    "[", "]", "[]", "[::1", "::1]", "[::1]]", "[[::1]]", "::1", "fe80::1", "[fe80::1%eth0]", "[fe80::1%25eth0]",
    "[::1%0]",
    "[127.0.0.1]", "[example.com]", "[::1].example.com", "[::1]:80", "[:::1]", "[1:2:3:4:5:6:7:8:9]", "[::127.0.0.01]",
    "[::0x7f]", "[v1.fe80::a]", "[::１]", "[ ::1]", "[::1 ]", "[::1\0]",
]  # fmt: skip


@pytest.mark.parametrize(("text", "canonical"), CANONICAL.items())
def test_a_host_has_one_spelling(text: str, canonical: str) -> None:
    host = canonical_host(text)
    assert isinstance(host, Host)
    assert host.text == canonical
    assert canonical_host(host.text) == host


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:60])
def test_a_hostile_host_is_refused_in_one_sentence(text: str) -> None:
    refused = canonical_host(text)
    assert isinstance(refused, Refused), refused
    assert refused.kind == "host_invalid"
    assert refused.reason.startswith("the host ")
    assert refused.about.isascii()
    assert refused.about.isprintable()
    assert len(refused.about) <= 255


def test_the_table_is_as_large_as_promised() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 120


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("example.com:443", "example.com", 443),
        ("Example.COM.:8443", "example.com", 8443),
        ("[::1]:80", "[::1]", 80),
        ("[::1]", "[::1]", 7),
        ("127.0.0.1", "127.0.0.1", 7),
        ("example.com:65535", "example.com", 65535),
    ],
)
def test_an_authority_is_a_host_and_a_port(text: str, host: str, port: int) -> None:
    found = split_authority(text, 7)
    assert isinstance(found, Authority)
    assert (found.host.text, found.port) == (host, port)
    assert found.text == f"{host}:{port}"


@pytest.mark.parametrize(
    "text",
    [
        "example.com:", "example.com:0", "example.com:65536", "example.com:080", "example.com:+80", "example.com:-1",
        "example.com:8 0", "example.com: 80", "example.com:80 ", "example.com:８０", "example.com:0x50",
        "example.com:80:80",
        "example.com:http", ":80", ":", "[::1]:", "[::1]80", "[::1]:80:80", "::1:80", "user@example.com:80", "a:b@c:80",
        "example.com:80/", "example.com:80\0", "example.com:80\n", "example.com:443@evil.test", "[::1]x:80",
        "example.com:99999999",
    ],
)  # fmt: skip
def test_a_hostile_authority_is_refused(text: str) -> None:
    assert isinstance(split_authority(text, 80), Refused)


def test_a_port_may_be_left_out_only_where_there_is_one_to_assume() -> None:
    assert isinstance(split_authority("example.com"), Refused)


def test_a_host_knows_the_address_that_it_is() -> None:
    for text in ("192.0.2.7", "[2001:db8::7]"):
        host = canonical_host(text)
        assert isinstance(host, Host)
        assert str(host.address) == text.strip("[]")
    assert Host("example.com").address is None
