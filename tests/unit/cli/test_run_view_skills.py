"""What a person sees of skills while a run works."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from skills_runtime.cli.run_text import describe_event, describe_progress
from skills_runtime.cli.run_view import Heading, HumanView, QuietView
from skills_runtime.cli.runs import event_line
from skills_runtime.events.payloads import (
    RoutedSkill,
    SkillCatalogOffered,
    SkillInjected,
    SkillInjectionSkipped,
    SkillRouted,
    SkillUnloaded,
)
from skills_runtime.events.states import RunStatus
from skills_runtime.testing import FrozenClock
from tests.unit.cli.showing import ending, events, shown

LOST = SkillInjectionSkipped(
    skill_name="w", reason="`$w` was left as it is:\nno such skill; " + "did you mean it? " * 9
)
DONE = ending(RunStatus.COMPLETED)


def test_a_notice_is_whole_and_on_one_line_of_a_file() -> None:
    (line,) = [one for one in shown(LOST, end=DONE).splitlines() if one.startswith("notice: ")]
    assert line.startswith("notice: `$w` was left as it is: no such skill; did you mean it?")
    assert line.endswith("did you mean it?")


def test_a_notice_is_not_cut_on_a_narrow_terminal() -> None:
    assert shown(LOST, end=DONE, width=40).count("mean") == 9


def test_a_notice_is_yellow() -> None:
    file = io.StringIO()
    console = Console(file=file, width=1000, force_terminal=True, color_system="standard")
    view = HumanView(console, Heading("A task", "model", "shared"), program="kgent", clock=FrozenClock())
    view.start(Path("/runs/r"), "r")
    (event,) = events(LOST)
    view.show_event(event)
    view.close()
    assert "\x1b[33mnotice: `$w`" in file.getvalue()
    assert event_line(event).spans[-1].style == "yellow"


def test_a_quiet_view_says_notices_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    view = QuietView()
    for event in events(LOST, SkillInjected(skill_name="w"), SkillUnloaded(mention_text="$[a].w")):
        view.show_event(event)
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), err.startswith("notice: `$w` was left")) == ("", 1, True)


def test_what_became_of_skills_is_noted_and_what_is_as_always_is_not() -> None:
    routed = SkillRouted(query="a", decided_by="trigger", choices=[RoutedSkill(mention="$[a].w", rule="trigger")])
    noted = events(
        routed,
        SkillInjected(skill_name="w", mention_text="$[a].w"),
        SkillUnloaded(mention_text="$[a].w"),
        SkillCatalogOffered(level="names", offered=2, reason="no room"),
        SkillCatalogOffered(level="full", offered=2),
        SkillRouted(query="a", choices=[RoutedSkill(mention="$[a].w", rule="words")]),
    )
    assert [describe_progress(one) for one in noted] == [
        "skill  `$[a].w` is called for by a trigger",
        "skill  `$[a].w` is active",
        "skill  `$[a].w` is no longer active",
        "skill  the model does not get all of its skills: no room",
        None,
        None,
    ]
    assert [describe_event(one) for one in noted[-2:]] == ["2 skills offered", "model $[a].w"]
