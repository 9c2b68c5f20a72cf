"""Whatever a user gets wrong: one sentence, a kind, a hint, the right exit code, and nothing half-created."""

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.cli.programs import Answer, call, environment, invoke, say, start, tree, write, write_config
from tests.support.users import Unprivileged

RUN = ("run", "--config", "kgent.yaml", "--sandbox", "runs/r")
TASK = (*RUN, "-p", "x")

ONE_ERROR = re.compile(r"error: (?P<sentence>.+)\n  kind: (?P<kind>\w+)\n  hint: .+\n")


def assert_refused(answer: Answer, code: int, kind: str, words: str = "") -> None:
    told = ONE_ERROR.fullmatch(answer.err)
    assert told, answer.err
    assert (answer.code, told["kind"], answer.out) == (code, kind, ""), answer.err
    assert words in told["sentence"]


BROKEN = {
    "broken YAML": ("llm: [", 20, "config_error", "is not usable YAML (line "),
    "an unknown key": ("run: {max_stepz: 3}", 20, "config_error", "did you mean `run.max_steps`?"),
    "a wrong type": ("run: {max_steps: many}", 20, "config_error", "must be an integer, not 'many'"),
    "not a mapping": ("- a\n- b", 20, "config_error", "must hold a mapping"),
    "a newer version": ("config_version: 99", 20, "config_error", "newer than this program understands"),
    "a key in clear": ("llm: {api_key_env: sk-0123456789abcdef0123}", 20, "config_error", "not the name of an env"),
    "a deliverable that escapes": ("deliverables: {required: [../x]}", 20, "config_error", "relative path"),
    "a script that is missing": (
        "llm: {backend: fake, fake: {script: none.yaml}}", 20, "config_error", "none.yaml` does not exist",
    ),
    "no script": ("llm: {backend: fake}", 20, "config_error", "needs a script"),
    "no key for the model": ("llm: {api_key_env: NO_SUCH_VARIABLE}", 20, "config_error", "`NO_SUCH_VARIABLE` is not"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_configuration_that_cannot_be_used_starts_nothing(workspace: Path, name: str) -> None:
    text, code, kind, words = BROKEN[name]
    (workspace / "kgent.yaml").write_text(text)
    before = tree(workspace)
    assert_refused(invoke(*TASK), code, kind, words)
    assert tree(workspace) == before


WRONG: dict[str, tuple[Sequence[str], int, str, str]] = {
    "a missing configuration file": (("run", "-p", "x", "--config", "no.yaml"), 22, "not_found", "no.yaml` does not"),
    "an illegal run id": ((*TASK, "--run-id", "../r"), 20, "validation", "`../r` is not a legal run id"),
    "an illegal session id": ((*TASK, "--session-id", "a b"), 20, "validation", "not a legal session id"),
    "an illegal task id": ((*TASK, "--task-id", ""), 20, "validation", "not a legal task id"),
    "an empty sandbox": (("run", "-p", "x", "--config", "kgent.yaml", "--sandbox", ""), 20, "validation", "--sandbox"),
    "a sandbox that is a file": (
        ("run", "-p", "x", "--config", "kgent.yaml", "--sandbox", "script.yaml"), 20, "validation", "is a file",
    ),
    "a sandbox that is not empty": (
        ("run", "-p", "x", "--config", "kgent.yaml", "--sandbox", "."), 20, "validation", "is not empty",
    ),
    "a workspace that is missing": ((*TASK, "--workspace-root", "gone"), 22, "not_found", "gone` does not exist"),
    "an empty task": ((*RUN, "-p", " \n"), 20, "validation", "the task is empty"),
    "a task that is not text": ((*RUN, "-p", "\udcff"), 20, "validation", "not UTF-8 text"),
    "a task file that is missing": ((*RUN, "--prompt-file", "no.md"), 22, "not_found", "`no.md` does not exist"),
    "a task file that is a directory": ((*RUN, "--prompt-file", "."), 20, "validation", "cannot be read"),
    "a setting without a value": ((*TASK, "--set", "run.max_steps"), 20, "validation", "is not an assignment"),
    "a setting that is not YAML": ((*TASK, "--set", "run.max_steps=["), 20, "config_error", "is not usable YAML"),
    "an unknown setting": ((*TASK, "--set", "run.speed=9"), 20, "config_error", "is not a setting"),
    "no task": (RUN, 2, "usage", "no task was given"),
    "two tasks": ((*TASK, "y"), 2, "usage", "`PROMPT` and as `--prompt`"),
    "an unknown option": ((*TASK, "--fast"), 2, "usage", "No such option: --fast"),
    "an unknown isolation": ((*TASK, "--isolation", "some"), 2, "usage", "--isolation"),
    "an unknown command": (("fly",), 2, "usage", "No such command 'fly'"),
    "an unknown run": (("runs", "show", "nowhere"), 22, "not_found", "no run `nowhere` is known"),
    "a directory that is no run": (("verify", "./"), 22, "not_found", "not a run directory"),
    "a beginning that is too short": (("runs", "tail", "ab"), 20, "validation", "too short"),
    "an unknown state": (("runs", "list", "--status", "asleep"), 20, "validation", "`asleep` is not a run status"),
    "an endless name": (("verify", "a" * 5000), 20, "validation", "too long"),
    "a limit of nothing": (("runs", "list", "--limit", "0"), 2, "usage", "--limit"),
    "no run for metrics": (("runs", "metrics"), 2, "usage", "name one run"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_command_line_that_cannot_work_says_why_and_leaves_nothing(workspace: Path, name: str) -> None:
    arguments, code, kind, words = WRONG[name]
    write_config(workspace, say("done"))
    before = tree(workspace)
    assert_refused(invoke(*arguments), code, kind, words)
    assert tree(workspace) == before


@pytest.mark.parametrize(
    "arguments", [("runs", "show"), ("runs", "tail"), ("runs", "metrics"), ("transcript",), ("runs", "export")]
)
def test_a_log_of_a_newer_version_is_refused_by_every_reader(workspace: Path, arguments: tuple[str, ...]) -> None:
    newer_log(workspace)
    assert_refused(invoke(*arguments, "./r"), 20, "log_too_new", "`skills-runtime.log/v9`")


def test_a_log_of_a_newer_version_is_not_verified(workspace: Path) -> None:
    newer_log(workspace)
    answer = invoke("verify", "./r")
    assert answer.code == 20
    assert "this log has the format `skills-runtime.log/v9`" in answer.out


def newer_log(workspace: Path) -> None:
    write_config(workspace, say("done"))
    assert invoke("run", "-p", "x", "--config", "kgent.yaml", "--sandbox", "r", "-q").code == 0
    log = workspace / "r/events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"skills-runtime.log/v1", b"skills-runtime.log/v9", 1))


def test_a_tool_that_reaches_out_of_the_run_is_refused_and_the_refusal_recorded(workspace: Path) -> None:
    write_config(workspace, say("", write("../../escaped.txt")), say("I could not."))
    answer = invoke(*TASK)
    assert (answer.code, answer.out) == (0, "I could not.\n")
    assert re.search(r"  1  file_write \.\./\.\./escaped\.txt +path_escape +\d+ ms\n", answer.err)
    assert not list(workspace.parent.rglob("escaped.txt"))
    assert '"ok":false,"error":"path_escape"' in (workspace / "runs/r/events.jsonl").read_text()


def test_a_directory_that_may_not_be_written_exits_21_and_leaves_nothing(unprivileged: Unprivileged) -> None:
    write_config(unprivileged.path, say("done"))
    closed = unprivileged.path / "closed"
    closed.mkdir(mode=0o555)
    before = tree(unprivileged.path)

    def attempt() -> Answer:
        os.chdir(unprivileged.path)
        return invoke("run", "-p", "x", "--config", "kgent.yaml", "--sandbox", "closed/r")

    # What the command imports only when it runs is imported here, where the sources can be read.
    assert invoke("run", "-p", "x", "--config", str(unprivileged.path / "kgent.yaml"), "--sandbox", "").code == 20
    assert_refused(unprivileged(attempt), 21, "permission", "no run can be created")
    assert tree(unprivileged.path) == before


def test_an_output_that_takes_nothing_is_one_sentence(workspace: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        with start("kgent", "config", "show", cwd=workspace, stdout=full) as process:
            _, err = process.communicate()
    finally:
        os.close(full)
    assert_refused(Answer(process.returncode, "", err.decode()), 23, "storage_error", os.strerror(errno.ENOSPC))


def test_a_reader_that_goes_away_is_no_error(workspace: Path) -> None:
    read, written = os.pipe()
    os.close(read)
    try:
        with start("kgent", "config", "show", cwd=workspace, stdout=written) as process:
            _, err = process.communicate()
    finally:
        os.close(written)
    assert (process.returncode, err) == (141, b"")


def test_an_internal_error_shows_its_traceback_only_on_request(workspace: Path) -> None:
    (workspace / "kgent.yaml").write_text("llm: [")
    answer = call("kgent", "--debug", *TASK, cwd=workspace, env=environment())
    assert answer.code == 20
    assert answer.err.startswith("Traceback (most recent call last):\n")
    assert "\nerror: " in answer.err
