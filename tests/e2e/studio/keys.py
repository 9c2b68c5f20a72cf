"""Working Studio with nothing but the keyboard: going to a control, pressing and typing, and what opens by it."""

import re
from dataclasses import dataclass
from typing import Any, cast

from playwright.sync_api import Locator, Page, expect

MOST_PRESSES = 400


@dataclass(frozen=True)
class To:
    """Go to a control with the tabulator."""

    role: str
    name: str


@dataclass(frozen=True)
class Down:
    """Go to an entry with the arrow."""

    role: str
    name: str


@dataclass(frozen=True)
class Type:
    """Type a text where the focus is."""

    text: str


@dataclass(frozen=True)
class See:
    """Wait until a text that matches this pattern is visible."""

    pattern: str


Step = To | Down | Type | See | str
"""A control or an entry to go to, a text to type or to wait for, or the name of a key to press."""


def named(page: Page | Locator, role: str, name: str) -> Locator:
    """Find the first element of a role whose accessible name starts with a text."""
    return page.get_by_role(cast(Any, role), name=re.compile(rf"^{re.escape(name)}")).first


def press_until(page: Page, key: str, target: Locator) -> None:
    """Press a key until the focus is there."""
    target.wait_for()
    handle = target.element_handle()
    assert handle is not None
    for _ in range(MOST_PRESSES):
        if handle.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} does not reach {target}")


def do(page: Page, *steps: Step) -> None:
    """Do these steps one after another."""
    for step in steps:
        match step:
            case To(role, name):
                press_until(page, "Tab", named(page, role, name))
            case Down(role, name):
                press_until(page, "ArrowDown", named(page, role, name))
            case Type(text):
                page.keyboard.type(text)
            case See(pattern):
                expect(page.get_by_text(re.compile(pattern)).first).to_be_visible()
            case key:
                page.keyboard.press(key)


@dataclass(frozen=True)
class Overlay:
    """Something that opens over a page or unfolds in it: on which page, by which steps, and what is there then."""

    page: str
    steps: tuple[Step, ...]
    role: str
    name: str

    @property
    def opener(self) -> To | None:
        """The button that opens it, if it is not a key of the page."""
        return next((step for step in self.steps if isinstance(step, To)), None)

    @property
    def folds(self) -> bool:
        """Whether it is a part of the page, which its own button folds again."""
        return self.role == "region"

    def open(self, page: Page, key: str = "Enter") -> Locator:
        """Open it, and wait until it is there; the key is what its button is pressed with."""
        do(page, *(key if step == "Enter" else step for step in self.steps))
        overlay = named(page, self.role, self.name)
        expect(overlay).to_be_visible()
        return overlay

    def close(self, page: Page) -> None:
        """Close it again, and wait until it is gone."""
        if self.folds and self.opener:
            do(page, self.opener)
        page.keyboard.press("Enter" if self.folds else "Escape")
        expect(named(page, self.role, self.name)).to_have_count(0)


def by_button(page: str, button: str, role: str, name: str) -> Overlay:
    """What a button of a page opens."""
    return Overlay(page, (To("button", button), "Enter"), role, name)


OVERLAYS = {
    "palette": Overlay("runs", ("Control+k",), "dialog", "Commands"),
    "palette by its button": by_button("runs", "Commands", "dialog", "Commands"),
    "keys": Overlay("run", ("?",), "dialog", "Keys on this page"),
    "keys by their button": by_button("skills", "Keys", "dialog", "Keys on this page"),
    "language": by_button("runs", "Language", "menu", "Language"),
    "colours": by_button("runs", "Theme", "menu", "Theme"),
    "import": by_button("runs", "Import", "dialog", "Import a run"),
    "fork": by_button("run", "Fork", "dialog", "Fork from event"),
    "fork by its key": Overlay("run", ("f",), "dialog", "Fork from event"),
    "export": by_button("run", "Export", "menu", "Export"),
    "more": by_button("run", "More actions", "menu", "More actions"),
    "verify": Overlay(
        "run",
        (To("button", "More actions"), "Enter", Down("menuitem", "Verify"), "Enter"),
        "dialog",
        "Verify the run",
    ),
    "cancel": by_button("run-approval", "Cancel run", "dialog", "Cancel this run?"),
    "edit": by_button("run-approval", "Edit arguments", "region", "Edit arguments"),
    "rule": by_button("run-approval", "This folder", "region", "Rule to add"),
    "new session": by_button("sessions", "New session", "dialog", "New session"),
    "delete session": by_button("session", "Delete", "dialog", "Delete this session?"),
    "new skill": by_button("skills", "New skill", "dialog", "New skill"),
    "install": by_button("skills", "Install", "dialog", "Install skills"),
    "new key": by_button("operations-keys", "New key", "dialog", "New API key"),
    "revoke key": by_button("operations-keys", "Revoke nightly", "dialog", "Revoke nightly?"),
}
"""Every dialog and menu of Studio that needs nothing but a page with something on it."""
