"""What every inbox promises to a run that ends: all that was accepted is found, and no more is accepted."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from skills_runtime.errors import LogEnded, ValidationFailed
from skills_runtime.ports import InboxKind
from skills_runtime.ports.people import ClosingInbox, InboxClosed
from tests.contract.conftest import AnyInbox

RUN = "run_1"


def test_it_has_the_shape_of_the_port(inbox: AnyInbox) -> None:
    port: ClosingInbox = inbox
    assert isinstance(port, ClosingInbox)


@pytest.mark.parametrize("kind", ["steer", "answer", "approve", "cancel"])
def test_a_closed_inbox_takes_no_kind_of_message(inbox: AnyInbox, kind: InboxKind) -> None:
    assert inbox.close_for(RUN) == ()
    with pytest.raises(InboxClosed, match="the run `run_1` has ended and takes no more messages"):
        inbox.send(RUN, kind, {})
    assert inbox.after(RUN, 0) == ()


def test_the_refusal_is_reported_like_that_of_a_run_that_has_ended(inbox: AnyInbox) -> None:
    inbox.close_for(RUN, unless_behind=0)
    with pytest.raises(InboxClosed) as caught:
        inbox.send(RUN, "steer", {})
    told = LogEnded("x")
    assert (caught.value.kind, caught.value.hint, caught.value.exit_code) == (told.kind, told.hint, told.exit_code)


def test_an_inbox_stays_open_while_a_message_waits_that_the_run_does_not_know(inbox: AnyInbox) -> None:
    first = inbox.send(RUN, "steer", {"n": 1})
    assert inbox.close_for(RUN, unless_behind=0) == (first,)
    second = inbox.send(RUN, "steer", {"n": 2})
    assert inbox.close_for(RUN, unless_behind=1) == (first, second)
    assert inbox.send(RUN, "steer", {"n": 3}).position == 3


def test_an_inbox_that_is_closed_in_any_case_returns_what_waits(inbox: AnyInbox) -> None:
    message = inbox.send(RUN, "steer", {})
    assert inbox.close_for(RUN) == (message,)
    with pytest.raises(InboxClosed):
        inbox.send(RUN, "steer", {})
    assert inbox.pending(RUN) == (message,)


def test_what_the_run_knows_and_has_not_acknowledged_is_returned_and_does_not_keep_the_inbox_open(
    inbox: AnyInbox,
) -> None:
    message = inbox.send(RUN, "steer", {})
    assert inbox.close_for(RUN, unless_behind=1) == (message,)
    with pytest.raises(InboxClosed):
        inbox.send(RUN, "steer", {})
    inbox.acknowledge(message.id, event_seq=3)
    assert inbox.pending(RUN) == ()


def test_acknowledged_messages_of_an_earlier_run_of_this_name_do_not_keep_the_inbox_open(inbox: AnyInbox) -> None:
    inbox.acknowledge(inbox.send(RUN, "steer", {}).id, event_seq=3)
    assert inbox.close_for(RUN, unless_behind=0) == ()
    with pytest.raises(InboxClosed):
        inbox.send(RUN, "steer", {})


def test_a_key_whose_message_is_stored_still_returns_it(inbox: AnyInbox) -> None:
    first = inbox.send(RUN, "steer", {"n": 1}, idempotency_key="k")
    inbox.close_for(RUN, unless_behind=1)
    assert inbox.send(RUN, "steer", {"n": 1}, idempotency_key="k") == first
    with pytest.raises(ValidationFailed, match="used for another message"):
        inbox.send(RUN, "steer", {"n": 2}, idempotency_key="k")
    with pytest.raises(InboxClosed):
        inbox.send(RUN, "steer", {"n": 1}, idempotency_key="other")


def test_an_opened_inbox_counts_on_where_it_was_closed(inbox: AnyInbox) -> None:
    inbox.send(RUN, "steer", {})
    inbox.close_for(RUN, unless_behind=1)
    inbox.open_for(RUN)
    assert inbox.send(RUN, "steer", {}).position == 2


def test_closing_and_opening_again_and_again_is_harmless(inbox: AnyInbox) -> None:
    inbox.open_for(RUN)
    for _ in range(2):
        inbox.close_for(RUN, unless_behind=0)
    for _ in range(2):
        inbox.open_for(RUN)
    assert inbox.send(RUN, "steer", {}).position == 1


def test_the_inboxes_of_other_runs_stay_open(inbox: AnyInbox) -> None:
    inbox.send("run_2", "steer", {})
    inbox.close_for(RUN, unless_behind=0)
    assert inbox.send("run_2", "steer", {}).position == 2


def test_an_illegal_run_id_is_refused(inbox: AnyInbox) -> None:
    for use in (lambda: inbox.close_for("../up", unless_behind=0), lambda: inbox.open_for("../up")):
        with pytest.raises(ValidationFailed, match="not a legal run id"):
            use()


def test_threads_that_send_while_the_inbox_is_closed_are_received_or_refused(inbox: AnyInbox) -> None:
    def send(number: int) -> list[str]:
        sent: list[str] = []
        try:
            for one in range(20):
                sent.append(inbox.send(RUN, "steer", {"from": number, "n": one}).id)
        except InboxClosed:
            pass
        return sent

    with ThreadPoolExecutor(4) as pool:
        senders = [pool.submit(send, number) for number in range(4)]
        heard = inbox.close_for(RUN)
    assert sorted(one.id for one in heard) == sorted(one for sender in senders for one in sender.result())
