"""skills list --watch: every change is told as it happens, until Ctrl-C."""

import json
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from skills_runtime.cli.skills import show_change
from skills_runtime.skills.reports import SkillChange, list_changes
from skills_runtime.skills.watch import compare_libraries
from tests.e2e.cli.models import read_until
from tests.e2e.cli.programs import TIMEOUT_SECONDS, start
from tests.unit.skills.samples import library_at, make_skill, skill_text


@pytest.fixture
def skills(workspace: Path, home: Path) -> Path:
    del workspace
    make_skill(home / ".agents/skills", "writer")
    return home / ".agents/skills"


@contextmanager
def watching(workspace: Path, *more: str) -> Generator[Popen[bytes]]:
    """A process that watches already; Ctrl-C ends it, and well."""
    with start("skills-runtime", "skills", "list", "--watch", *more, cwd=workspace) as process:
        try:
            read_until(process.stderr, b"watching for changes; press Ctrl-C to stop")
            yield process
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=TIMEOUT_SECONDS)
            assert (process.returncode, err) == (0, b"")
        finally:
            process.kill()


def put(skills: Path, name: str) -> None:
    """A new skill, which is nowhere half written."""
    make_skill(skills.parent / "aside", name).rename(skills / name)


def change(skills: Path, text: str) -> None:
    """Another text for the skill that is there, all of it at once."""
    aside = skills.parent / "aside.md"
    aside.write_text(text)
    aside.replace(skills / "writer/SKILL.md")


def told(process: Popen[bytes], edit: Callable[[], object]) -> dict[str, Any]:
    """The first line after an edit."""
    edit()
    return json.loads(read_until(process.stdout, b"\n")[-1])


def test_programs_get_a_line_for_each_change(workspace: Path, skills: Path) -> None:
    with watching(workspace, "--json") as process:
        added = told(process, lambda: put(skills, "reader"))
        assert (added["change"], added["mention"]) == ("added", "$[user].reader")
        changed = told(process, lambda: change(skills, skill_text(description="Other.")))
        assert (changed["change"], changed["name"], changed["description"]) == ("changed", "writer", "Other.")
        broken = told(process, lambda: change(skills, "no front matter"))
        assert (broken["change"], broken["name"]) == ("broken", "writer")
        assert "frontmatter" in broken["reason"]
        removed = told(process, lambda: (skills / "reader").rename(skills.parent / "gone"))
        assert (removed["change"], removed["name"]) == ("removed", "reader")


def test_people_get_the_list_first(workspace: Path, skills: Path) -> None:
    with watching(workspace) as process:
        read_until(process.stdout, b"offered   $[user].writer")
        put(skills, "reader")
        read_until(process.stdout, b"added     $[user].reader")


def test_a_skill_that_broke_is_not_reported_as_removed_as_well(tmp_path: Path) -> None:
    make_skill(tmp_path, "writer")
    before = library_at(tmp_path)
    before.list()
    (tmp_path / "writer/SKILL.md").write_text("---\nname: writer\n---\n")
    assert [one.change for one in list_changes(compare_libraries(before, library_at(tmp_path)))] == ["broken"]


def test_what_a_skill_says_cannot_begin_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    show_change(SkillChange(change="added", name="a", description="x\nremoved   $[user].b", path="/p"))
    assert capsys.readouterr().out == "added     a\n          x removed $[user].b\n          /p\n"
