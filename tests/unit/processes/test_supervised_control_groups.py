"""Control groups of the second version, in the kernel's own hierarchy: made where they were delegated, and gone again.

Which controllers that hierarchy has depends on the machine; every group of it has the settings that are used here.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import ControlGroup, SandboxSetup
from skills_runtime.processes import Command, Finished, Limits, execute
from skills_runtime.processes.launcher import dismiss
from skills_runtime.sandbox.machine import find_group_directories
from tests.support.users import NOBODY, Unprivileged
from tests.unit.processes.conftest import wait_for_end

SETTING = "cgroup.max.descendants"
LIMITS = Limits(wall_seconds=30.0, grace_seconds=0.5)


def own_group() -> Path:
    """Where this process is in the hierarchy."""
    places = find_group_directories(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
    if "" not in places or os.geteuid() != 0 or not os.access(places[""], os.W_OK):
        pytest.skip("this user cannot make control groups of the second version")
    return places[""]


@pytest.fixture
def delegated() -> Iterator[Path]:
    """A part of the hierarchy that was given to an ordinary user, who is in it."""
    before = own_group()
    made = before / f"test-{os.getpid()}"
    home = made / "home"
    home.mkdir(parents=True)
    for place in (made, home):
        for path in (place, place / "cgroup.procs", place / "cgroup.subtree_control"):
            os.chown(path, NOBODY, NOBODY)
    (home / "cgroup.procs").write_text("0")
    try:
        yield made
    finally:
        dismiss()
        (before / "cgroup.procs").write_text("0")
        outlast(made)
        for path in (home, made):
            path.rmdir()


def outlast(place: Path) -> None:
    """Return when nobody else is in a group and in those below it."""
    for path in (place, *(one for one in place.iterdir() if one.is_dir())):
        with suppress(OSError):  # the group itself goes with the last
            for pid in (path / "cgroup.procs").read_text().split():
                if int(pid) != os.getpid():
                    wait_for_end(int(pid))


def run(parent: Path, home: Path, script: str, setting: str = SETTING) -> Finished:
    group = ControlGroup(parent=str(parent), home=str(home), settings=((setting, "7"),), counters=("memory.events",))
    command = Command(
        ("/bin/sh", "-c", script), Path("/"), {"PATH": "/usr/bin:/bin"}, setup=SandboxSetup(control_groups=(group,))
    )
    try:
        return asyncio.run(execute(command, LIMITS))
    finally:
        dismiss()


def groups_in(parent: Path) -> list[str]:
    return [path.name for path in parent.glob("skills-runtime-*")]


SHOW = "grep '^0::' /proc/self/cgroup; cat {parent}/skills-runtime-*/" + SETTING


def test_a_command_is_born_into_a_group_with_its_settings(delegated: Path) -> None:
    finished = run(delegated, delegated / "home", SHOW.format(parent=delegated))
    where, setting = finished.stdout.text().split()
    assert f"/{delegated.name}/skills-runtime-" in where
    assert setting == "7"


def test_an_ordinary_user_does_the_same_where_it_was_delegated(delegated: Path, unprivileged: Unprivileged) -> None:
    def work() -> list[str]:
        return run(delegated, delegated / "home", SHOW.format(parent=delegated)).stdout.text().split()

    where, setting = unprivileged(work)
    assert f"/{delegated.name}/skills-runtime-" in where
    assert setting == "7"


def test_what_a_daemon_leaves_of_its_group_is_gone(delegated: Path) -> None:
    run(delegated, delegated / "home", "setsid -f sleep 1000; echo done")
    outlast(delegated)
    assert groups_in(delegated) == []


def test_a_limit_that_the_hierarchy_does_not_have_is_refused(delegated: Path) -> None:
    with pytest.raises(SandboxError):
        run(delegated, delegated / "home", "echo ran", setting="nonsense.max")
