"""A fence that a supervisor puts up itself is that of bubblewrap, as far as anything behind it can tell."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from skills_runtime.errors import SkillsRuntimeError
from skills_runtime.ports import ProcessRequest
from skills_runtime.processes import Command, Finished, Limits, PutUpBy, execute
from skills_runtime.sandbox import CAREFUL, Fence, Profile, adapters_named, policy_for
from tests.e2e.sandbox.arena import enclosure_by
from tests.support.users import Unprivileged

LOOKING = Path(__file__).with_name("looking.py").read_text()  # an ordinary user may not be able to read it there
LIMITS = Limits(wall_seconds=60.0, grace_seconds=0.2)
PROFILES: tuple[Profile, ...] = ("read-only", "workspace-write", "build")
Seen = dict[str, Any]
COVERED = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}


def _workspace(base: Path) -> Path:
    made = (base / "workspace").resolve()
    for directory in (".git/hooks", ".vscode", "sub/.git", ".skills_runtime_sdk"):
        (made / directory).mkdir(parents=True)
    (made / ".git/config").write_text("[core]\n")
    (made / ".env").write_text("KEY=1\n")
    (made / ".skills_runtime_sdk/secret").write_text("secret\n")
    (made / "looking.py").write_text(LOOKING)
    (made / "unnamed").write_text("echo of a script\nexit 7\n")
    (made / "unnamed").chmod(0o755)
    return made


def _run(workspace: Path, profile: Profile, argv: tuple[str, ...], *, put_up_by: PutUpBy) -> Finished:
    fence = Fence(policy_for(profile, workspace, CAREFUL), adapters_named("bubblewrap"), {})
    plan = fence.plan(ProcessRequest(argv=argv, cwd=workspace, environment={"GIVEN": "a value"}))
    command = Command(plan.argv, plan.cwd, plan.environment, enclosure=enclosure_by(put_up_by, plan))
    return asyncio.run(execute(command, LIMITS))


def _seen(workspace: Path, profile: Profile, *, put_up_by: PutUpBy) -> Seen:
    done = _run(workspace, profile, ("python3", "-I", "looking.py"), put_up_by=put_up_by)
    assert done.exit_code == 0, done.stderr.text()
    return json.loads(done.stdout.text())


def _both(workspace: Path, profile: Profile) -> tuple[Seen, Seen]:
    return _seen(workspace, profile, put_up_by="program"), _seen(workspace, profile, put_up_by="supervisor")


def _compare(by_program: Seen, by_supervisor: Seen) -> None:
    assert (by_program.pop("keeper"), by_supervisor.pop("keeper")) == ("bwrap", "fence")
    for seen in (by_program, by_supervisor):
        ours = {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in seen["namespaces"]}
        seen["namespaces"] = {name: value == ours[name] for name, value in seen["namespaces"].items()}
    # The supervisor covers what bubblewrap only finds to be not writable, and shows nothing of the first process.
    assert _besides(by_program.pop("mounts"), by_supervisor.pop("mounts")) <= COVERED
    refused = {path: answer for path, answer in by_supervisor["read"].items() if path.startswith("/proc/1/")}
    assert set(refused.values()) == {"EACCES"}
    by_program["read"] |= refused
    for name, value in by_program.items():
        assert by_supervisor[name] == value, name


def _besides(by_program: list[list[str]], by_supervisor: list[list[str]]) -> set[str]:
    """Where the supervisor mounts something besides, read-only; whatever is mounted otherwise is an error."""
    theirs, ours = Counter(map(tuple, by_program)), Counter(map(tuple, by_supervisor))
    assert theirs - ours == Counter()
    assert all(options.startswith("ro,") for _, options, _, _ in ours - theirs)
    return {point for point, *_ in ours - theirs}


@pytest.mark.parametrize("profile", PROFILES)
def test_everything_looks_alike(profile: Profile, tmp_path: Path) -> None:
    _compare(*_both(_workspace(tmp_path), profile))


@pytest.mark.parametrize("profile", PROFILES)
def test_everything_looks_alike_to_an_ordinary_user(profile: Profile, unprivileged: Unprivileged) -> None:
    _compare(*unprivileged(lambda: _both(_workspace(unprivileged.path), profile)))


COMMANDS: dict[str, tuple[str, ...]] = {
    "an exit code": ("sh", "-c", "exit 42"),
    "a signal": ("sh", "-c", "kill -TERM $$"),
    "the strongest signal": ("sh", "-c", "kill -KILL $$"),
    "both streams": ("sh", "-c", "echo out; echo err >&2"),
    "a program by its path": ("/usr/bin/env",),
    "a program in the workspace": ("./unnamed",),
    "an orphan that outlives its parent": ("sh", "-c", "sleep 600 & echo gone"),
    "a signal to all": ("sh", "-c", "kill -TERM -1; echo alive"),
    "the end of the first process": ("sh", "-c", "kill -KILL 1; echo alive"),
    "a zombie": ("python3", "-I", "-c", "import os\nif os.fork() == 0: os._exit(0)\nprint(os.waitpid(-1, 0)[1])"),
    "what is written is there": ("sh", "-c", "echo new > made; cat made; rm made"),
    "no program": ("./sub",),
}


@pytest.mark.parametrize("argv", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command_ends_alike(argv: tuple[str, ...], tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    ends = [_end(workspace, argv, put_up_by=put_up_by) for put_up_by in get_args(PutUpBy)]
    assert ends[0] == ends[1]


def _end(workspace: Path, argv: tuple[str, ...], *, put_up_by: PutUpBy) -> tuple[object, ...]:
    try:
        done = _run(workspace, "workspace-write", argv, put_up_by=put_up_by)
    except SkillsRuntimeError as refusal:
        return (refusal.kind, str(refusal))
    return (done.exit_code, done.signal, done.stdout.text(), done.stderr.text(), done.ended_by, done.survivors)


def test_a_program_that_is_gone_by_then_is_told_in_the_words_of_bubblewrap(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    fence = Fence(policy_for("workspace-write", workspace, CAREFUL), adapters_named("bubblewrap"), {})
    plan = fence.plan(ProcessRequest(argv=("./unnamed",), cwd=workspace))
    (workspace / "unnamed").unlink()
    done = asyncio.run(execute(Command(plan.argv, plan.cwd, plan.environment, enclosure=plan.enclosure), LIMITS))
    assert (done.exit_code, done.stderr.text()) == (1, "bwrap: execvp ./unnamed: No such file or directory\n")


def test_a_program_without_its_interpreter_says_so(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    (workspace / "unnamed").write_text("#!/nowhere/interpreter\n")
    done = _run(workspace, "workspace-write", ("./unnamed",), put_up_by="supervisor")
    assert (done.exit_code, done.stderr.text()) == (1, "sandbox: ./unnamed: No such file or directory\n")
