"""Skills that change, break and go while a run works with them: the run is told, and goes on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.testing import FakeModel, says
from tests.support.agents import agent_in, calls, payloads_of
from tests.unit.skills.samples import make_skill, skill_text

SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "discovery": {"enabled": False},
}


class Meddled(FakeModel):
    """A model that somebody meddles with before its first answer."""

    def __init__(self, meddle: Callable[[], object], *answers: Any) -> None:
        super().__init__(answers)
        self._meddle = meddle

    def stream_chat(self, request: Any) -> Any:
        """Meddle, then answer."""
        if not self.requests:
            self._meddle()
        return super().stream_chat(request)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make_skill(tmp_path / "skills", "writer", text=skill_text(body="Write with care.\n"))
    make_skill(tmp_path / "skills", "editor", text=skill_text("editor", body="Edit with care.\n"))
    return tmp_path


def activate(name: str) -> Any:
    return calls(("activate_skill", {"name": name}))


def run(place: Path, model: FakeModel, task: str = "Go.") -> Any:
    return agent_in(place, model, settings={"skills": SKILLS}).run(task)


def last(model: FakeModel, request: int) -> str:
    return str(model.requests[request].messages[-1]["content"])


def renamed(root: Path) -> None:
    (root / "writer").rename(root / "away")


def broken(root: Path) -> None:
    (root / "writer" / "SKILL.md").write_text("gone wrong")


def garbled(root: Path) -> None:
    (root / "writer" / "SKILL.md").write_bytes(b"---\nname: a\ndescription: b\n---\n\xff")


@pytest.mark.parametrize(
    ("meddle", "why"),
    [(renamed, "no such file or directory"), (broken, "its front matter is broken now"), (garbled, "UTF-8")],
)
def test_a_skill_that_cannot_be_read_any_more_is_reported_by_name(
    place: Path, meddle: Callable[[Path], object], why: str
) -> None:
    model = Meddled(lambda: meddle(place / "skills"), activate("writer"), activate("editor"), says("done"))
    result = run(place, model)
    assert "`$[web:mvp].writer`" in last(model, 1)
    assert why in last(model, 1)
    assert "Edit with care." in last(model, 2)
    assert result.status == "completed"


def test_a_file_that_becomes_a_link_is_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(skill_text(body="TOP SECRET\n"))
    file = place / "skills" / "writer" / "SKILL.md"

    def swap() -> None:
        file.unlink()
        file.symlink_to(tmp_path / "secret")

    model = Meddled(swap, activate("writer"), says("done"))
    run(place, model)
    assert "links are not followed" in last(model, 1)
    assert "TOP SECRET" not in str(model.requests)


def test_a_changed_skill_permits_no_more_than_when_the_run_began(place: Path) -> None:
    file = place / "skills" / "writer" / "SKILL.md"
    model = Meddled(
        lambda: file.write_text(skill_text(extra="allowed-tools: Bash\n")), activate("writer"), says("done")
    )
    result = run(place, model)
    (event,) = payloads_of(result.wal_locator, "skill_injected")
    assert (event.permits, event.preapproves) == ([], False)


def test_two_calls_in_one_answer_tell_a_skill_once(place: Path) -> None:
    wanted = ("activate_skill", {"name": "writer"})
    model = FakeModel([calls(wanted, wanted), says("done")])
    result = run(place, model)
    assert len(payloads_of(result.wal_locator, "skill_injected")) == 1


def test_a_command_in_the_text_of_a_skill_stays_text(place: Path, tmp_path: Path) -> None:
    mark = tmp_path / "made"
    make_skill(
        place / "skills", "banger", text=skill_text("banger", body=f"Now: !`touch {mark}` and $(touch {mark})\n")
    )
    model = FakeModel([says("done")])
    run(place, model, "/banger now")
    assert f"!`touch {mark}`" in str(model.requests[0].messages)
    assert not mark.exists()


@pytest.mark.parametrize(
    "path", ["../editor/SKILL.md", "/etc/passwd", "link", "up/passwd", ".", "pipe", "a\0b", ".env", "x/../notes.md"]
)
def test_reading_a_file_of_a_skill_does_not_lead_out_of_it(place: Path, path: str) -> None:
    import os

    directory = place / "skills" / "writer"
    (directory / "link").symlink_to("/etc/passwd")
    (directory / "up").symlink_to("/etc")
    (directory / ".env").write_text("KEY=1")
    (directory / "notes.md").write_text("Notes.")
    os.mkfifo(directory / "pipe")
    wanted = calls(("read_skill_file", {"name": "writer", "path": path}))
    good = calls(("read_skill_file", {"name": "writer", "path": "notes.md"}))
    model = FakeModel([wanted, good, says("done")])
    agent_in(place, model, settings={"skills": SKILLS}, mode="ask").run("Go.")
    assert '"ok":false' in last(model, 1)
    assert "Notes." in last(model, 2)
