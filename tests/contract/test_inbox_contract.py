"""What every inbox promises, checked on the durable one and on the one in memory."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from skills_runtime.errors import NotFound, ValidationFailed
from skills_runtime.ports import Inbox, InboxKind
from tests.contract.conftest import AnyInbox

RUN = "run_1"
MEBIBYTE = 1_048_576


def test_it_has_the_shape_of_the_port(inbox: AnyInbox) -> None:
    port: Inbox = inbox
    assert port.pending(RUN) == ()


def test_a_message_comes_back_as_it_was_sent(inbox: AnyInbox) -> None:
    body: dict[str, Any] = {"text": "先停一下 \x00 \"'", "nested": [1, 2.5, None, True, {"a": []}], "large": 2**70}
    message = inbox.send(RUN, "steer", body)
    assert (message.run_id, message.position, message.kind, message.body) == (RUN, 1, "steer", body)
    assert message.id.startswith("msg_")
    assert message.created_at.endswith("Z")
    assert inbox.pending(RUN) == (message,)


def test_positions_count_from_one_in_each_run(inbox: AnyInbox) -> None:
    positions = [inbox.send(run, "steer", {}).position for run in (RUN, RUN, "run_2", RUN, "run_2")]
    assert positions == [1, 2, 1, 3, 2]


def test_messages_of_one_run_are_not_seen_by_another(inbox: AnyInbox) -> None:
    inbox.send(RUN, "cancel", {})
    assert inbox.pending("run_2") == ()
    assert inbox.after("run_2", 0) == ()
    assert inbox.unacknowledged_count("run_2") == 0


@pytest.mark.parametrize("kind", ["steer", "answer", "approve", "cancel"])
def test_every_kind_is_accepted(inbox: AnyInbox, kind: InboxKind) -> None:
    assert inbox.send(RUN, kind, {}).kind == kind


def test_another_kind_is_refused(inbox: AnyInbox) -> None:
    with pytest.raises(ValidationFailed, match="`wake` is not a kind"):
        inbox.send(RUN, "wake", {})  # pyright: ignore[reportArgumentType]


def test_the_same_key_returns_the_first_message_unchanged(inbox: AnyInbox) -> None:
    first = inbox.send(RUN, "approve", {"a": 1, "b": {"x": 1, "y": 2}}, idempotency_key="k")
    inbox.send(RUN, "steer", {})
    again = inbox.send(RUN, "approve", {"b": {"y": 2, "x": 1}, "a": 1}, idempotency_key="k")
    assert again == first
    assert inbox.unacknowledged_count(RUN) == 2


def test_the_same_key_still_holds_after_the_message_was_acknowledged(inbox: AnyInbox) -> None:
    first = inbox.send(RUN, "approve", {}, idempotency_key="k")
    inbox.acknowledge(first.id, event_seq=4)
    assert inbox.send(RUN, "approve", {}, idempotency_key="k") == first
    assert inbox.pending(RUN) == ()


@pytest.mark.parametrize(("kind", "body"), [("steer", {"a": 1}), ("approve", {"a": 2}), ("approve", {"a": True})])
def test_the_same_key_for_another_message_is_refused(inbox: AnyInbox, kind: InboxKind, body: dict[str, Any]) -> None:
    first = inbox.send(RUN, "approve", {"a": 1}, idempotency_key="k")
    with pytest.raises(ValidationFailed, match="idempotency key `k` was used for another message"):
        inbox.send(RUN, kind, body, idempotency_key="k")
    assert inbox.after(RUN, 0) == (first,)


def test_the_same_key_in_another_run_is_another_message(inbox: AnyInbox) -> None:
    first = inbox.send(RUN, "steer", {}, idempotency_key="k")
    assert inbox.send("run_2", "steer", {}, idempotency_key="k").id != first.id


def test_messages_without_a_key_are_never_merged(inbox: AnyInbox) -> None:
    assert inbox.send(RUN, "steer", {}).id != inbox.send(RUN, "steer", {}).id


@pytest.mark.parametrize("key", ["", "k" * 257, "\ud800"])
def test_a_key_that_cannot_be_kept_is_refused(inbox: AnyInbox, key: str) -> None:
    with pytest.raises(ValidationFailed):
        inbox.send(RUN, "steer", {}, idempotency_key=key)
    assert inbox.after(RUN, 0) == ()


def test_an_acknowledged_message_is_no_longer_pending(inbox: AnyInbox) -> None:
    first, second, third = (inbox.send(RUN, "steer", {"n": n}) for n in range(3))
    inbox.acknowledge(second.id, event_seq=9)
    assert inbox.pending(RUN) == (first, third)
    assert inbox.unacknowledged_count(RUN) == 2


def test_messages_after_a_position_include_acknowledged_ones(inbox: AnyInbox) -> None:
    _, second, third = (inbox.send(RUN, "steer", {"n": n}) for n in range(3))
    inbox.acknowledge(second.id, event_seq=9)
    assert inbox.after(RUN, 1) == (second, third)


def test_acknowledging_again_changes_nothing(inbox: AnyInbox) -> None:
    message = inbox.send(RUN, "steer", {})
    inbox.acknowledge(message.id, event_seq=0)
    inbox.acknowledge(message.id, event_seq=0)
    assert inbox.pending(RUN) == ()


def test_acknowledging_by_another_event_is_refused(inbox: AnyInbox) -> None:
    message = inbox.send(RUN, "steer", {})
    inbox.acknowledge(message.id, event_seq=3)
    with pytest.raises(ValidationFailed, match="was acknowledged by event 3"):
        inbox.acknowledge(message.id, event_seq=4)
    inbox.acknowledge(message.id, event_seq=3)


def test_acknowledging_an_unknown_message_is_refused(inbox: AnyInbox) -> None:
    with pytest.raises(NotFound, match="msg_x"):
        inbox.acknowledge("msg_x", event_seq=3)


def test_an_event_before_the_first_is_refused(inbox: AnyInbox) -> None:
    message = inbox.send(RUN, "steer", {})
    with pytest.raises(ValidationFailed):
        inbox.acknowledge(message.id, event_seq=-1)
    assert inbox.pending(RUN) == (message,)


@pytest.mark.parametrize("run_id", ["", "../up", ".hidden", "a b", "a\x00", "r\n", "é", "x" * 129])
def test_an_illegal_run_id_is_refused_everywhere(inbox: AnyInbox, run_id: str) -> None:
    for use in (lambda: inbox.send(run_id, "steer", {}), lambda: inbox.pending(run_id)):
        with pytest.raises(ValidationFailed, match="not a legal run id"):
            use()
    with pytest.raises(ValidationFailed, match="not a legal run id"):
        inbox.after(run_id, 0)
    with pytest.raises(ValidationFailed, match="not a legal run id"):
        inbox.unacknowledged_count(run_id)


def _nested(depth: int) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for _ in range(depth):
        body = {"deeper": body}
    return body


@pytest.mark.parametrize(
    "body",
    [{"a": float("nan")}, {"a": b"x"}, {"a": {1}}, {"a": (1,)}, {1: "a"}, {"a": "\ud800"}, {"a": object()},
     _nested(9999)],
    ids=["nan", "bytes", "set", "tuple", "number-as-key", "half-a-character", "object", "too-deep"],
)  # fmt: skip
def test_a_body_that_is_not_json_is_refused(inbox: AnyInbox, body: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationFailed, match="must be JSON data"):
        inbox.send(RUN, "steer", body)
    assert inbox.after(RUN, 0) == ()


@pytest.mark.parametrize("body", [None, "text", 5, [1]])
def test_a_body_that_is_not_an_object_is_refused(inbox: AnyInbox, body: Any) -> None:
    with pytest.raises(ValidationFailed, match="must be JSON data"):
        inbox.send(RUN, "steer", body)


def test_a_body_of_one_mebibyte_is_accepted_and_one_byte_more_is_not(inbox: AnyInbox) -> None:
    frame = len('{"t":""}')
    assert inbox.send(RUN, "steer", {"t": "x" * (MEBIBYTE - frame)}).position == 1
    with pytest.raises(ValidationFailed, match=str(MEBIBYTE + 1)):
        inbox.send(RUN, "steer", {"t": "x" * (MEBIBYTE - frame + 1)})


def test_changing_what_was_sent_or_received_does_not_change_the_message(inbox: AnyInbox) -> None:
    body: dict[str, Any] = {"list": [1]}
    inbox.send(RUN, "steer", body, idempotency_key="k").body["list"].append(2)
    body["list"].append(3)
    inbox.pending(RUN)[0].body["list"].append(4)
    assert inbox.pending(RUN)[0].body == {"list": [1]}


def test_threads_that_send_at_once_lose_nothing_and_share_no_position(inbox: AnyInbox) -> None:
    def send(number: int) -> str:
        return inbox.send(RUN, "steer", {"n": number}).id

    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(send, range(60)))
    messages = inbox.pending(RUN)
    assert [message.position for message in messages] == list(range(1, 61))
    assert sorted(message.id for message in messages) == sorted(sent)


def test_threads_that_send_the_same_key_at_once_get_one_message(inbox: AnyInbox) -> None:
    def send(_: int) -> str:
        return inbox.send(RUN, "cancel", {}, idempotency_key="stop").id

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(send, range(40)))
    assert len(ids) == 1
    assert inbox.unacknowledged_count(RUN) == 1
