"""Every action of Studio from its beginning to its end with nothing but the keyboard."""

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.studio.browsers import Spares, go, settle
from tests.e2e.studio.keys import Down, See, Step, To, Type, do, named
from tests.e2e.studio.seeded import Seeded, seed, wait_for_person
from tests.e2e.studio.services import decision_in, events_of, start_calls

PACK = "---\nname: alpha\ndescription: The first of a pack.\n---\n\n# Alpha\n"


@dataclass(frozen=True)
class Action:
    """On which page, by which steps, and what is there when it is done: something with a role, or just a text."""

    page: str
    steps: tuple[Step, ...]
    text: str
    role: str = ""


NEW_SKILL = (Type("by-keys"), "Tab", Type("Made by keys."))
LOOK_AT_SKILLS = (Type("./packs"), "Enter", To("checkbox", "I have reviewed"), "Space")
NEW_KEY = (Type("by-keys"), To("checkbox", "run"), "Space", To("button", "Create key"), "Enter")
ACTIONS = {
    "start": Action("new", (Type("Say hello."), To("button", "Start"), "Enter"), "Say hello.", "heading"),
    "start from the field": Action("new", (Type("Say it again."), "Control+Enter"), "Say it again.", "heading"),
    "demo": Action("welcome", (To("button", "Start the demo"), "Space"), "Transcript", "tab"),
    "fork": Action(
        "run",
        ("f", "Control+a", Type("Another way."), To("button", "Start the fork"), "Enter"),
        "Compare with the original run",
        "link",
    ),
    "answer": Action(
        "run-question", (To("radio", "red"), "Space", To("button", "Send answer"), "Enter"), "Answered at"
    ),
    "resume": Action("run-parked", (To("spinbutton", "Maximum steps"), Type("50"), "Enter"), "Completed"),
    "review": Action("run-review", (To("button", "Accept the result"), "Enter"), "Completed"),
    "search in a run": Action("run-failed", ("/", Type("part-1.txt"), See("^0 of [1-9]"), "Enter"), "1 of"),
    "replay": Action(
        "run",
        (To("button", "More actions"), "Enter", Down("menuitem", "Replay"), "Enter", To("slider", "Position"), "Home"),
        "Event 1 of",
    ),
    "create a skill": Action(
        "skills",
        (To("button", "New skill"), "Enter", *NEW_SKILL, To("button", "Create"), "Enter"),
        "by-keys",
        "heading",
    ),
    "edit a skill": Action(
        "skill-edit", (To("textbox", "SKILL.md"), "Control+End", Type("And water it."), "Control+s"), "Saved"
    ),
    "install a skill": Action(
        "skills",
        (To("button", "Install"), "Enter", *LOOK_AT_SKILLS, To("button", "Install 1 skill"), "Enter"),
        "Installed: alpha",
    ),
    "run a skill": Action(
        "skill-run", (To("textbox", "Text"), Type("four"), To("button", "Run"), "Enter"), "Output", "region"
    ),
    "make a key": Action(
        "operations-keys",
        (To("button", "New key"), "Enter", *NEW_KEY, To("button", "I have copied it"), "Enter"),
        "Revoke by-keys",
        "button",
    ),
    "revoke a key": Action(
        "operations-keys",
        (To("button", "Revoke nightly"), "Enter", To("button", "Revoke the key"), "Enter"),
        "nightly revoked",
    ),
    "choose a model": Action(
        "operations-model",
        (To("textbox", "Model"), "Control+a", Type("another-model"), To("button", "Save"), "Enter"),
        "Model saved",
    ),
    "ask the rules": Action(
        "operations-policy", (To("textbox", "Command line"), Type("git push"), "Control+Enter"), "Decision", "region"
    ),
    "open a session": Action(
        "sessions",
        (To("button", "New session"), "Enter", Type("By keys"), "Enter"),
        "By keys",
        "heading",
    ),
    "go on with a session": Action(
        "session", (To("textbox", "Continue this session"), Type("And now?"), "Control+Enter"), "And now?"
    ),
    "filter the runs": Action("runs", ("/", Type("what nobody asked for")), "No matching runs"),
}


@pytest.fixture(scope="module")
def workspace(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Seeded]:
    home = tmp_path_factory.mktemp("actions")
    (home / "packs" / "alpha").mkdir(parents=True)
    (home / "packs" / "alpha" / "SKILL.md").write_text(PACK)
    with seed(home) as seeded:
        yield seeded


@pytest.fixture(scope="module")
def page(spares: Spares, workspace: Seeded) -> Generator[Page]:
    """One page for all actions, which goes from one to the next as a person would."""
    with spares.page(workspace.service) as page:
        settle(page)
        yield page


@pytest.mark.parametrize("name", ACTIONS)
def test_it_is_done_by_keyboard_alone(page: Page, workspace: Seeded, name: str) -> None:
    action = ACTIONS[name]
    go(page, workspace.pages[action.page])
    do(page, *action.steps)
    done = named(page, action.role, action.text) if action.role else page.get_by_text(action.text).first
    expect(done).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


REJECT = (To("button", "Reject"), "Enter")  # the reason has the focus then


@pytest.mark.parametrize(
    ("command", "steps", "decision"),
    [
        ("echo a", (To("button", "Approve once"), "Space"), {"decision": "approved"}),
        ("echo b", (*REJECT, Type("No b."), "Control+Enter"), {"decision": "denied", "note": "No b."}),
        ("echo c", (*REJECT, Type("No."), To("button", "Reject the call"), "Enter"), {"decision": "denied"}),
        ("echo d", (*REJECT, To("button", "Reject and stop"), "Enter"), {"decision": "abort"}),
    ],
)  # fmt: skip
def test_a_request_is_decided_where_the_run_is_shown(
    page: Page, workspace: Seeded, command: str, steps: tuple[Step, ...], decision: dict[str, str]
) -> None:
    assert decision_after(page, workspace, command, *steps).items() >= decision.items()


def test_a_call_is_changed_before_it_is_approved(page: Page, workspace: Seeded) -> None:
    edited = Type(json.dumps({"command": "echo f"}))
    steps = (To("button", "Edit arguments"), "Enter", "Control+a", edited, To("button", "Approve with"), "Enter")
    assert decision_after(page, workspace, "echo e", *steps)["arguments_blob"]


def test_a_rule_is_added_with_an_approval(page: Page, workspace: Seeded) -> None:
    steps = (To("button", "This folder"), "Space", To("button", "Allow `echo g`"), "Enter")
    assert decision_after(page, workspace, "echo g", *steps)["rule"]["scope"] == "folder"


def decision_after(page: Page, workspace: Seeded, command: str, *steps: Step) -> dict[str, Any]:
    """What was decided about a command after these steps on the page of its run."""
    run_id = start_calls(workspace.service, ("shell_command", {"command": command}), policy_mode="ask")
    wait_for_person(workspace.service, run_id)
    go(page, f"/studio/runs/{run_id}")
    do(page, *steps)
    return decision_in(events_of(workspace.service, run_id))


def test_a_run_gets_a_message_and_is_then_cancelled(page: Page, workspace: Seeded) -> None:
    run_id = start_calls(workspace.service, ("shell_command", {"command": "sleep 50"}))
    go(page, f"/studio/runs/{run_id}")
    do(page, To("textbox", "Send a message to the run"), Type("Hurry up."), "Enter")
    expect(page.get_by_role("list", name="Unread messages")).to_contain_text("Hurry up.")
    do(page, To("button", "Cancel run"), "Enter", Type("It takes too long."), To("button", "Cancel the run"), "Enter")
    expect(page.get_by_role("article").filter(has_text="It takes too long.")).to_be_visible()
    do(page, To("textbox", "Continue in this session"), Type("Once more."), "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Once more.")


def test_two_runs_are_swapped_and_compared(page: Page, workspace: Seeded) -> None:
    path = workspace.pages["compare"]
    go(page, path)
    do(page, To("button", "Swap"), "Enter")
    a, b = re.findall(r"=(\w+)", path)
    expect(page).to_have_url(re.compile(f"a={b}&b={a}"))
    do(page, To("button", "Go to the first difference"), "Enter")
    expect(page.locator("main li:focus")).to_have_count(1)


@pytest.mark.parametrize(
    ("menu", "entry", "attribute", "value"),
    [("Theme", "Dark", "data-theme", "dark"), ("Language", "简体中文", "lang", "zh-CN")],
)
def test_the_look_is_chosen_from_a_menu(
    spares: Spares, workspace: Seeded, menu: str, entry: str, attribute: str, value: str
) -> None:
    with spares.page(workspace.service, workspace.pages["runs"]) as own:
        settle(own)
        do(own, To("button", menu), "Enter", Down("menuitemradio", entry), "Enter")
        expect(own.locator("html")).to_have_attribute(attribute, value)


@pytest.mark.parametrize("entry", ["Run directory", "Events", "Single page"])
def test_a_run_is_exported(page: Page, workspace: Seeded, entry: str) -> None:
    go(page, workspace.pages["run"])
    with page.expect_download() as saving:
        do(page, To("button", "Export"), "Enter", Down("menuitem", entry), "Enter")
    assert saving.value.suggested_filename


def test_a_run_is_imported(page: Page, workspace: Seeded, tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(b"no archive")
    go(page, workspace.pages["runs"])
    with page.expect_file_chooser() as choosing:
        do(page, To("button", "Import"), "Enter", To("button", "Run archive"), "Enter")
    choosing.value.set_files(tmp_path / "run.zip")
    dialog = page.get_by_role("dialog", name="Import a run")
    do(page, To("button", "Import"), "Space")
    expect(dialog.get_by_role("alert")).to_be_visible()
    page.keyboard.press("Escape")
    expect(named(page, "button", "Import")).to_be_focused()


def test_the_details_of_an_event_are_opened_and_closed(page: Page, workspace: Seeded) -> None:
    go(page, workspace.pages["run"].partition("?")[0])
    do(page, To("button", "Details of event"), "Enter")
    expect(page).to_have_url(re.compile(r"event=\d+"))
    tabs = page.get_by_role("complementary").get_by_role("tab")
    expect(tabs.last).to_be_visible()
    tabs.first.focus()
    page.keyboard.press("End")
    expect(tabs.last).to_have_attribute("aria-selected", "true")
