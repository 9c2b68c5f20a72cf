"""The commands by which people reach a run: send, answer, cancel, review."""

import json
from pathlib import Path

import pytest

from skills_runtime.runs import RunPaths, read_events
from tests.e2e.cli.programs import Answer, invoke, say, write_config
from tests.e2e.cli.test_bad_input import assert_refused

COLOUR = say("", ("ask_human", {"question": "Which colour?", "choices": ["red", "blue"]}))
SEVERAL = say(
    "",
    (
        "request_user_input",
        {"questions": [{"id": "size", "question": "How big?"}, {"id": "shape", "question": "Which shape?"}]},
    ),
)


def run(*answers: dict[str, object], more: tuple[str, ...] = ()) -> Answer:
    write_config(Path(), *answers)
    return invoke("run", "Paint it", "--config", "kgent.yaml", "--sandbox", "runs/r", *more)


def types_of(root: str = "runs/r") -> list[str]:
    return [event.type for event in read_events(RunPaths(Path(root)))]


def results() -> list[object]:
    events = (json.loads(line) for line in Path("runs/r/events.jsonl").read_text().splitlines())
    return [one["payload"]["result"]["data"] for one in events if one["type"] == "tool_call_finished"]


@pytest.fixture
def asking(workspace: Path) -> Path:
    """A run that waits for an answer."""
    answer = run(COLOUR, say("Painted."))
    assert answer.code == 26, answer.err
    return workspace


def test_a_run_that_asks_without_a_terminal_waits_and_says_how_to_answer(workspace: Path) -> None:
    answer = run(COLOUR, say("Painted."))
    assert (answer.code, answer.out) == (26, "")
    assert "     asks  Which colour? [red | blue]\n" in answer.err
    assert " asks you  Which colour? " in answer.err
    assert "answer  kgent runs answer r NUMBER" in answer.err
    assert json.loads(Path("runs/r/run.json").read_text())["status"] == "waiting_for_user"


def test_show_tells_what_a_run_waits_for_and_the_command_that_answers(asking: Path) -> None:
    page = invoke("runs", "show", "r").out
    assert page.startswith("run r  ◆ asks you\n")
    waiting = page.partition("waiting for\n")[2].partition("next\n")[0]
    assert [line.split() for line in waiting.splitlines()] == [
        ["Which", "colour?"],
        ["1", "red"],
        ["2", "blue"],
        ["answer", "kgent", "runs", "answer", "r", "NUMBER"],
        ["then", "kgent", "runs", "resume", "r"],
    ]


def test_show_for_programs_has_the_question(asking: Path) -> None:
    waiting = json.loads(invoke("runs", "show", "r", "--json").out)["waiting"]
    (question,) = waiting["questions"]
    assert (waiting["kind"], question["question"], question["choices"]) == (
        "human_required",
        "Which colour?",
        ["red", "blue"],
    )


def test_a_list_says_what_a_run_waits_for(asking: Path) -> None:
    answer = invoke("runs", "list")
    assert answer.out.splitlines()[1].split()[:4] == ["r", "◆", "asks", "you"]
    assert "1 run waits for you; `kgent runs show RUN` shows what for\n" in answer.err


def test_an_answer_is_kept_until_the_run_is_resumed(asking: Path) -> None:
    answered = invoke("runs", "answer", "r", "2")
    assert answered == (
        0,
        "the answer to `call_1_1` was sent to the run `r`; it is read when the run resumes\n",
        "  next: kgent runs resume r\n",
    )
    assert "1 message will be read when the run resumes" in invoke("runs", "show", "r").out
    resumed = invoke("runs", "resume", "r")
    assert (resumed.code, resumed.out) == (0, "Painted.\n"), resumed.err
    assert "     received  answer blue\n     answered  blue\n  1  ask_human " in resumed.err
    assert results() == [{"answer": "blue"}]


def test_an_answer_can_come_from_stdin_and_be_printed_as_json(asking: Path) -> None:
    answered = invoke("runs", "answer", "r", "-", "--json", stdin="绿色\n".encode())
    message = json.loads(answered.out)
    assert (answered.code, answered.err) == (0, "")
    assert (message["run_id"], message["kind"], message["body"]["answer"]) == ("r", "answer", "绿色")


def test_the_same_answer_twice_is_one_message_and_another_is_refused(asking: Path) -> None:
    first, again = (json.loads(invoke("runs", "answer", "r", "blue", "--json").out) for _ in range(2))
    assert first == again
    assert_refused(invoke("runs", "answer", "r", "red"), 20, "validation", "another answer to `call_1_1` is on its way")


def test_several_questions_are_answered_by_name(workspace: Path) -> None:
    answer = run(SEVERAL, say("Done."))
    assert "answer  kgent runs answer r --set size=TEXT --set shape=TEXT" in answer.err
    assert_refused(invoke("runs", "answer", "r", "big"), 20, "validation", "asks 2 things at once")
    assert_refused(invoke("runs", "answer", "r", "--set", "size=1"), 20, "validation", "do not fit the questions")
    assert invoke("runs", "answer", "r", "--set", "size=1=2", "--set", "shape=").code == 0
    assert invoke("runs", "resume", "r", "-q").code == 0
    assert results() == [{"answers": [{"id": "size", "answer": "1=2"}, {"id": "shape", "answer": ""}]}]


def test_one_of_two_open_questions_is_named_by_its_call(workspace: Path) -> None:
    both = say("", ("ask_human", {"question": "One?"}), ("ask_human", {"question": "Two?"}))
    run(both, say("Done."))
    assert_refused(invoke("runs", "answer", "r", "x"), 20, "validation", "has asked several things")
    assert_refused(invoke("runs", "answer", "r", "x", "--call", "c9"), 22, "not_found", "no question of the call `c9`")
    assert invoke("runs", "answer", "r", "two", "--call", "call_1_2").code == 0
    assert invoke("runs", "answer", "r", "one", "--call", "call_1_1").code == 0
    assert invoke("runs", "resume", "r", "-q").code == 0
    assert results() == [{"answer": "one"}, {"answer": "two"}]


def test_a_message_is_read_at_the_next_turn_exactly_once(asking: Path) -> None:
    sent = invoke("runs", "send", "r", "Use little paint")
    assert sent == (
        0,
        "message 1 was sent to the run `r`; it is read when the run resumes\n",
        "  next: kgent runs resume r\n",
    )
    invoke("runs", "answer", "r", "red")
    resumed = invoke("runs", "resume", "r")
    assert "     received  steer Use little paint\n" in resumed.err
    assert types_of().count("inbox_received") == 2


def test_a_message_can_be_as_long_as_stdin(asking: Path) -> None:
    sent = json.loads(invoke("runs", "send", "r", "-", "--json", stdin=b"line one\nline two\n").out)
    assert (sent["kind"], sent["body"]) == ("steer", {"text": "line one\nline two"})


def test_a_run_without_a_process_is_cancelled_at_once(asking: Path) -> None:
    assert invoke("runs", "cancel", "r", "--reason", "no need") == (0, "the run `r` is cancelled\n", "")
    assert types_of()[-1] == "run_cancelled"
    assert "reason      no need" in invoke("runs", "show", "r").out
    assert invoke("runs", "list", "--status", "cancelled").out.splitlines()[1].split()[0] == "r"


def test_a_cancellation_can_be_printed_as_json(asking: Path) -> None:
    answer = invoke("runs", "cancel", "r", "--json")
    assert json.loads(answer.out) == {"run_id": "r", "status": "cancelled", "reason": "cancelled"}


def test_a_run_that_asks_for_review_waits_with_its_result_on_stdout(workspace: Path) -> None:
    answer = run(say("A draft."), say("Better."), more=("--review",))
    assert (answer.code, answer.out) == (26, "A draft.\n")
    assert "accept     kgent runs review approve r" in answer.err
    assert "send back  kgent runs review revise r --note TEXT" in answer.err
    assert invoke("runs", "show", "r").out.startswith("run r  ◆ review required\n")


def test_an_approved_result_completes_the_run(workspace: Path) -> None:
    run(say("A draft."), more=("--review", "-q"))
    assert invoke("runs", "review", "approve", "r", "--note", "fine") == (0, "approved; the run `r` is completed\n", "")
    last = json.loads(Path("runs/r/events.jsonl").read_text().splitlines()[-1])
    assert last["payload"]["metadata"]["review"] == {"decision": "approved", "note": "fine"}


def test_an_approved_result_that_lacks_a_deliverable_has_failed(workspace: Path) -> None:
    write_config(Path(), say("A draft."), deliverables={"required": ["x.md"]})
    invoke("run", "x", "--config", "kgent.yaml", "--sandbox", "runs/r", "--review", "-q")
    answer = invoke("runs", "review", "approve", "r", "--json")
    assert (answer.code, json.loads(answer.out)["status"]) == (1, "failed")


def test_a_result_that_is_sent_back_goes_on_with_the_note(workspace: Path) -> None:
    run(say("A draft."), say("Better."), more=("--review", "-q"))
    revised = invoke("runs", "review", "revise", "r", "--note", "Shorter")
    assert (revised.code, revised.err) == (0, "  next: kgent runs resume r\n")
    assert invoke("runs", "show", "r").out.startswith("run r  ◇ revision required\n")
    resumed = invoke("runs", "resume", "r")
    assert (resumed.code, resumed.out) == (26, "Better.\n"), resumed.err
    assert "     received  steer Shorter\n" in resumed.err
    assert invoke("runs", "review", "approve", "r").code == 0


def test_a_result_that_waits_for_review_does_not_go_on_by_itself(workspace: Path) -> None:
    run(say("A draft."), more=("--review", "-q"))
    assert_refused(invoke("runs", "resume", "r"), 20, "illegal_transition", "is waiting for review")


REFUSED = {
    "a message to a run that has ended": (("send", "r", "x"), 20, "log_ended"),
    "an answer to a run that has ended": (("answer", "r", "x"), 20, "log_ended"),
    "the end of a run that has ended": (("cancel", "r"), 20, "log_ended"),
    "approval of a run that has ended": (("review", "approve", "r"), 20, "log_ended"),
    "revision of a run that has ended": (("review", "revise", "r", "--note", "x"), 20, "log_ended"),
    "an unknown run": (("send", "nowhere", "x"), 22, "not_found"),
    "the end of an unknown run": (("cancel", "nowhere"), 22, "not_found"),
    "no answer": (("answer", "r"), 2, "usage"),
    "two answers": (("answer", "r", "x", "--set", "a=b"), 2, "usage"),
    "an answer without a name": (("answer", "r", "--set", "=b"), 20, "validation"),
    "an answer given twice": (("answer", "r", "--set", "a=b", "--set", "a=c"), 20, "validation"),
    "an empty message": (("send", "r", " "), 20, "validation"),
    "a message that is not text": (("send", "r", "\udcff"), 20, "validation"),
    "a revision without a note": (("review", "revise", "r"), 2, "usage"),
    "a revision with an empty note": (("review", "revise", "r", "--note", " "), 20, "validation"),
}


@pytest.fixture
def ended(workspace: Path) -> None:
    assert run(say("Done."), more=("-q",)).code == 0


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_message_to_a_run_is_refused_in_one_sentence(ended: None, name: str) -> None:
    arguments, code, kind = REFUSED[name]
    before = Path("runs/r/events.jsonl").read_bytes()
    assert_refused(invoke("runs", *arguments), code, kind)
    assert Path("runs/r/events.jsonl").read_bytes() == before


def test_a_run_that_asked_nothing_cannot_be_answered(workspace: Path) -> None:
    run(say("A draft."), more=("--review", "-q"))
    assert_refused(invoke("runs", "answer", "r", "x"), 22, "not_found", "has asked nothing")


def test_a_run_that_asks_cannot_be_approved(asking: Path) -> None:
    assert_refused(invoke("runs", "review", "approve", "r"), 20, "illegal_transition", "does not wait for review")
