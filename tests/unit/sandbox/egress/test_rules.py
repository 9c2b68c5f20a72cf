"""The policy decides: deny wins, an empty list allows nothing, and a name is not allowed to lead anywhere."""

from ipaddress import ip_address

import msgspec
import pytest

from skills_runtime.errors import ValidationFailed
from skills_runtime.sandbox.egress import (
    EgressPolicy,
    Host,
    Rule,
    allow_rule,
    canonical_host,
    decide,
    deny_rule,
    egress_policy,
)
from skills_runtime.sandbox.egress.rules import check_address, find_reach


def outcome(policy: EgressPolicy, text: str, port: int = 443) -> str:
    host = canonical_host(text)
    assert isinstance(host, Host)
    return decide(policy, host, port).outcome


def blocked(policy: EgressPolicy, rule: Rule, address: str, port: int = 443) -> str:
    one = ip_address(address)
    refused = check_address(policy, rule, port, one, find_reach(one))
    return refused.kind if refused else ""


def test_an_empty_policy_allows_nothing() -> None:
    assert outcome(EgressPolicy(), "example.com") == "unknown"
    assert outcome(egress_policy(deny=["evil.test"]), "example.com") == "unknown"


@pytest.mark.parametrize(
    ("rule", "host", "port", "expected"),
    [
        ("example.com", "example.com", 443, "allow"),
        ("example.com", "EXAMPLE.com.", 80, "allow"),
        ("Example.COM.", "example.com", 80, "allow"),
        ("example.com", "example.com", 8443, "unknown"),
        ("example.com", "www.example.com", 443, "unknown"),
        ("example.com", "notexample.com", 443, "unknown"),
        ("example.com", "example.com.evil.test", 443, "unknown"),
        ("*.example.com", "www.example.com", 443, "allow"),
        ("*.example.com", "a.b.example.com", 443, "allow"),
        ("*.example.com", "example.com", 443, "unknown"),
        ("*.example.com", "notexample.com", 443, "unknown"),
        ("*.example.com", "evil-example.com", 443, "unknown"),
        ("**.example.com", "example.com", 443, "allow"),
        ("**.example.com", "www.example.com", 443, "allow"),
        ("**.example.com", "evilexample.com", 443, "unknown"),
        ("example.com:8443", "example.com", 8443, "allow"),
        ("example.com:8443", "example.com", 443, "unknown"),
        ("example.com:22,8443", "example.com", 22, "allow"),
        ("example.com:*", "example.com", 1, "allow"),
        ("bücher.example", "xn--bcher-kva.example", 443, "allow"),
        ("8.8.8.8", "8.8.8.8", 443, "allow"),
        ("[2606:4700::1111]:443", "[2606:4700:0::1111]", 443, "allow"),
        ("10.0.0.1", "10.0.0.1", 443, "allow"),
        ("10.0.0.1", "10.0.0.2", 443, "deny"),
        ("8.8.8.8", "8.8.4.4", 443, "unknown"),
    ],
)
def test_a_rule_covers_what_it_says(rule: str, host: str, port: int, expected: str) -> None:
    assert outcome(egress_policy(allow=[rule]), host, port) == expected


def test_deny_wins_over_any_allow() -> None:
    policy = egress_policy(allow=["**.example.com", "bad.example.com"], deny=["bad.example.com", "*.worse.example.com"])
    assert outcome(policy, "good.example.com") == "allow"
    assert outcome(policy, "bad.example.com") == "deny"
    assert outcome(policy, "x.worse.example.com") == "deny"


def test_a_denied_host_is_denied_on_every_port() -> None:
    policy = egress_policy(allow=["example.com:*"], deny=["example.com"])
    assert outcome(policy, "example.com", 12345) == "deny"


def test_a_denied_port_leaves_the_others() -> None:
    policy = egress_policy(allow=["example.com"], deny=["example.com:80"])
    assert (outcome(policy, "example.com", 80), outcome(policy, "example.com", 443)) == ("deny", "allow")


@pytest.mark.parametrize("text", ["127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::a00:1]"])
def test_an_address_that_is_not_public_is_refused_without_asking(text: str) -> None:
    assert outcome(EgressPolicy(), text) == "deny"


def test_the_reason_names_the_rule() -> None:
    verdict = decide(egress_policy(deny=["*.evil.test"]), Host("x.evil.test"), 443)
    assert verdict.kind == "denied"
    assert "*.evil.test:*" in verdict.reason


@pytest.mark.parametrize(
    "text",
    [
        "", "*", "*.", "**", "*.com", "**.com", "*.*.com", "*example.com", "example.*", "exam*ple.com",
        "***.example.com",
        "*.10.0.0.1", "*.[::1]", "example.com:0", "example.com:80,", "example.com:65536", "example.com:80-90",
        "example.com:",
        "example.com:x", "http://example.com", "example.com/path", "::1", "10.0.0.0/8", "127.1", "user@example.com",
        "exam ple.com",
    ],
)  # fmt: skip
def test_a_rule_that_says_nothing_clear_is_refused(text: str) -> None:
    for parse in (allow_rule, deny_rule):
        with pytest.raises(ValidationFailed) as caught:
            parse(text)
        assert caught.value.hint


@pytest.mark.parametrize(
    "fields", [{"host": "Example.com"}, {"host": "example.com."}, {"host": "a\0b"}, {"host": "a.b", "ports": ()},
               {"host": "a.b", "ports": (0,)}, {"host": "com", "scope": "below"}, {"host": "::1"}],
)  # fmt: skip
def test_a_rule_cannot_be_made_in_a_spelling_that_never_matches(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"rule|canonical"):
        Rule(**fields)  # pyright: ignore[reportArgumentType]


def test_a_policy_is_a_value() -> None:
    one, other = (egress_policy(allow=["a.example"], deny=["b.example"]) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert msgspec.json.decode(msgspec.json.encode(one), type=EgressPolicy) == one


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "100.64.0.1", "::1", "fd12::1", "169.254.1.1", "224.0.0.1"]
)
def test_a_name_must_not_lead_to_an_address_that_is_not_public(address: str) -> None:
    assert blocked(EgressPolicy(), allow_rule("example.com"), address) == "address_blocked"
    assert blocked(EgressPolicy(), allow_rule("example.com"), "8.8.8.8") == ""


def test_a_name_may_lead_into_private_networks_where_the_rule_says_so() -> None:
    rule = allow_rule("db.internal.example", private="allowed")
    assert [blocked(EgressPolicy(), rule, one) for one in ("127.0.0.1", "10.0.0.1", "::1", "fd12::1")] == [""] * 4


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "::ffff:127.0.0.1", "224.0.0.1"]
)
def test_even_then_it_must_not_lead_to_credentials_or_through_gateways(address: str) -> None:
    rule = allow_rule("db.internal.example", private="allowed")
    assert blocked(EgressPolicy(), rule, address) == "address_blocked"


@pytest.mark.parametrize("text", ["127.0.0.1", "169.254.169.254", "[fd00:ec2::254]", "[::ffff:127.0.0.1]"])
def test_a_rule_that_names_the_very_address_is_enough(text: str) -> None:
    assert blocked(EgressPolicy(), allow_rule(text), text.strip("[]")) == ""


@pytest.mark.parametrize("address", ["8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"])
def test_a_denied_address_is_denied_under_every_name_and_in_every_form(address: str) -> None:
    policy = egress_policy(deny=["8.8.8.8"])
    assert blocked(policy, allow_rule("example.com"), address) == "denied"
