"""Which addresses are public."""

from ipaddress import ip_address

import pytest

from skills_runtime.sandbox.egress import is_public
from skills_runtime.sandbox.egress.authorizer import is_local_address
from skills_runtime.sandbox.egress.rules import find_embedded_ipv4, find_reach, parse_address

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"]

REACHES = {
    "private": [
        "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.255.255.254",
        "100.64.0.1", "100.127.255.255", "::1", "fc00::1", "fdff::1",
    ],
    "metadata": [
        "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
    ],
    "special": [
        "0.0.0.0", "0.1.2.3", "169.254.1.1", "192.0.0.1", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1",
        "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::2", "fe80::1", "feb0::1", "fec0::1", "ff02::1", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "::127.0.0.1",
        "64:ff9b::808:808", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:808:808::1", "2001::1",
        "2001:0:4136:e378:8000:63bf:f5f5:f5f5",
        "2001:db8::1", "3fff::1", "100::1", "5f00::1", "4000::1", "fe80::1%lo",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_on_the_open_internet_is_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize(("reach", "text"), [(reach, text) for reach, texts in REACHES.items() for text in texts])
def test_any_other_address_is_not(reach: str, text: str) -> None:
    assert not is_public(ip_address(text))
    assert find_reach(ip_address(text)) == reach


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("64:ff9b::a00:1", "10.0.0.1"),
        ("2002:a00:1::5", "10.0.0.1"),
        ("2001:0:1:2:3:4:f5ff:fffe", "10.0.0.1"),
        ("::10.0.0.1", "10.0.0.1"),
    ],
)
def test_the_address_that_a_gateway_would_make_of_another_is_known(text: str, inner: str) -> None:
    assert find_embedded_ipv4(ip_address(text)) == ip_address(inner)


def test_most_addresses_hold_no_other() -> None:
    assert find_embedded_ipv4(ip_address("2606:4700::1111")) is None
    assert find_embedded_ipv4(ip_address("10.0.0.1")) is None


@pytest.mark.parametrize("text", ["fe80::1%eth0", "example.com", "", "127.1", "::1%lo"])
def test_what_a_resolver_should_not_answer_is_no_address(text: str) -> None:
    assert parse_address(text) is None


def test_the_addresses_of_this_machine_are_known() -> None:
    assert is_local_address(ip_address("127.0.0.1"))
    assert not is_local_address(ip_address("192.0.2.1"))
    assert not is_local_address(ip_address("2001:db8::1"))
