"""What becomes of the skills that somebody asks for is told wherever a run is looked at."""

import json
from pathlib import Path

import pytest

from tests.e2e.cli.programs import Answer, invoke, say, write_config
from tests.unit.skills.samples import make_skill, skill_text

LOST = "`$writre` was left as it is"


@pytest.fixture
def workspace(workspace: Path, home: Path) -> Path:
    make_skill(home / ".agents/skills", "writer")
    return workspace


def run_in(workspace: Path, prompt: str, *more: str) -> Answer:
    write_config(workspace, say("Done."))
    answer = invoke("run", "--config", "kgent.yaml", "--prompt", prompt, "--sandbox", "runs/one", *more)
    assert answer.code == 0, answer.err
    return answer


def test_a_mention_that_leads_nowhere_is_shown_once(workspace: Path) -> None:
    (line,) = [line for line in run_in(workspace, "use $writre").err.splitlines() if LOST in line]
    assert line.startswith(f"notice: {LOST}")
    assert "`writer`" in line


def test_a_command_that_is_none_is_shown(workspace: Path) -> None:
    assert "notice: `/nosuch` was left as it is" in run_in(workspace, "/nosuch x").err


def test_quiet_still_shows_skill_notices(workspace: Path) -> None:
    answer = run_in(workspace, "use $writre", "--quiet")
    assert answer.out == "Done.\n"
    assert answer.err.startswith(f"notice: {LOST}")
    assert answer.err.count("\n") == 1


def test_the_page_the_lines_and_the_transcript_tell_it(workspace: Path) -> None:
    run_in(workspace, "use $writre")
    assert f"skills\n  {LOST}" in invoke("runs", "show", "runs/one").out
    (notice,) = json.loads(invoke("runs", "show", "runs/one", "--json").out)["notices"]
    assert notice.startswith(LOST)
    assert f"skill_injection_skipped  {LOST}" in invoke("runs", "tail", "runs/one").out
    assert (workspace / "runs/one/transcript.md").read_text().count(LOST) == 1


def test_the_program_that_reads_the_log_finds_it_there(workspace: Path) -> None:
    events = [json.loads(line) for line in run_in(workspace, "use $writre", "--json").out.splitlines()]
    (skipped,) = [one["payload"] for one in events if one["type"] == "skill_injection_skipped"]
    assert skipped["reason"].startswith(LOST)


def test_a_skill_that_was_asked_for_is_reported_as_active(workspace: Path) -> None:
    answer = run_in(workspace, "use $writer")
    assert "     skill  `$[user].writer` is active\n" in answer.err
    assert "notice" not in answer.err
    assert json.loads(invoke("runs", "show", "runs/one", "--json").out)["notices"] == []
    assert "skills\n  `$[user].writer` is active\n" in invoke("runs", "show", "runs/one").out


def test_a_skill_that_a_trigger_brought_in_is_reported_with_the_trigger(workspace: Path, home: Path) -> None:
    make_skill(home / ".agents/skills", "tides", text=skill_text("tides", extra="triggers: [spring tide]\n"))
    told = run_in(workspace, "When is the spring tide?").err
    assert "     skill  `$[user].tides` is called for by a trigger: " in told
    assert "     skill  `$[user].tides` is active\n" in told


def test_a_run_that_begins_with_nothing_special_is_as_short_as_ever(workspace: Path) -> None:
    assert "skill" not in run_in(workspace, "Go").err


def test_a_run_that_goes_on_does_not_tell_it_again(workspace: Path) -> None:
    write_config(workspace, say("", ("ask_human", {"question": "Which?"})), say("Done."))
    first = invoke("run", "--config", "kgent.yaml", "--prompt", "use $writre", "--sandbox", "runs/one")
    assert first.err.count(LOST) == 1
    write_config(workspace, say("Done."))
    assert LOST not in invoke("runs", "answer", "runs/one", "blue").err
    assert LOST not in invoke("runs", "resume", "runs/one").err
