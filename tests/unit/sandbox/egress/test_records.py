"""The sum of what a command did on the network: exact, and bounded whatever the command tries."""

from typing import Any

from skills_runtime.sandbox.egress import EgressRecord, EgressUsage
from skills_runtime.sandbox.egress.records import MAX_HOSTS


def record(host: str, **more: Any) -> EgressRecord:
    facts: dict[str, Any] = {
        "number": 1,
        "stage": "decided",
        "protocol": "connect",
        "port": 443,
        "verdict": "deny",
        "reason": "no",
    }
    return EgressRecord(host=host, **{**facts, **more})


def summed(*records: EgressRecord) -> dict[str, Any]:
    account = EgressUsage()
    for one in records:
        account.add(one)
    return account.summary()


def test_nothing_is_a_sum_too() -> None:
    assert summed() == {
        "mode": "allow-list", "allowed": 0, "denied": 0, "asked": 0, "bytes_up": 0, "bytes_down": 0, "hosts": [],
    }  # fmt: skip


def test_requests_are_counted_when_decided_and_bytes_at_their_end() -> None:
    allowed = {"verdict": "allow", "by": "rule"}
    found = summed(
        record("a.test", **allowed),
        record("a.test", stage="ended", bytes_up=3, bytes_down=5, **allowed),
        record("a.test", number=2, by="person"),
    )
    assert (found["allowed"], found["denied"], found["asked"]) == (1, 1, 1)
    assert (found["bytes_up"], found["bytes_down"]) == (3, 5)
    (host,) = found["hosts"]
    assert (host["host"], host["port"], host["requests"], host["bytes_down"]) == ("a.test", 443, 2, 5)


def test_another_port_is_another_place() -> None:
    assert len(summed(record("a.test"), record("a.test", port=80))["hosts"]) == 2


def test_hosts_beyond_the_first_are_only_counted() -> None:
    found = summed(*(record(f"h{number}.test") for number in range(MAX_HOSTS + 7)))
    assert (found["denied"], len(found["hosts"]), found["requests_left_out"]) == (MAX_HOSTS + 7, MAX_HOSTS, 7)
