"""What somebody put into a run directory is not followed, waited for or read without end by the commands that look."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cli.programs import Answer, invoke, say, write, write_config
from tests.support.users import Unprivileged

SECRET = "another file's content"
COMMANDS = (
    ("runs", "show", "runs/one"),
    ("runs", "export", "runs/one", "--output", "out.tar.gz"),
    ("runs", "export", "runs/one", "--html", "out.html"),
    ("runs", "tail", "runs/one"),
    ("runs", "verify", "runs/one"),
    ("runs", "fork", "runs/one", "--run-id", "two", "-q"),
)
NAMES = ("prompt.md", "run.json", "events.jsonl", "artifact-manifest.json", "transcript.md", "config.yaml")


def _link(path: Path) -> None:
    secret = path.with_name("elsewhere")
    secret.write_text(SECRET)
    path.unlink()
    path.symlink_to(secret)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _hole(path: Path) -> None:
    path.chmod(0o600)
    os.truncate(path, 1 << 40)


def _run(place: Path) -> Path:
    write_config(place, say("", write("deliverables/report.md")), say("done"))
    assert invoke("run", "Report", "--config", "kgent.yaml", "--sandbox", "runs/one", "-q").code == 0
    return place / "runs/one"


@pytest.mark.parametrize("plant", [_link, _pipe, _device, _hole])
@pytest.mark.parametrize("name", NAMES)
def test_commands_that_look_at_a_run_end_at_once_and_tell_of_no_other_file(
    workspace: Path, name: str, plant: Callable[[Path], None]
) -> None:
    plant(_run(workspace) / name)
    for command in COMMANDS:
        answer = invoke(*command)
        assert SECRET not in answer.out + answer.err
        assert "kind: unknown" not in answer.err
        assert "verify" not in command or answer.code == 20 or name == "events.jsonl"


def test_a_task_that_became_a_link_is_refused_in_plain_words(workspace: Path) -> None:
    _link(_run(workspace) / "prompt.md")
    answer = invoke("runs", "show", "runs/one")
    assert answer.code == 21
    assert "prompt.md` cannot be read: a link is on the way to it, and links are not followed" in answer.err


def test_an_ordinary_user_is_refused_as_well(unprivileged: Unprivileged) -> None:
    def look() -> Answer:
        os.chdir(unprivileged.path)
        _link(_run(unprivileged.path) / "prompt.md")
        return invoke("runs", "show", "runs/one")

    answer = unprivileged(look)
    assert (answer.code, SECRET in answer.out) == (21, False)
