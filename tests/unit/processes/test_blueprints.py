"""The options of bubblewrap are read as what they are, and whoever does not understand one leaves them alone."""

from pathlib import Path

import pytest

from skills_runtime.processes.supervision.blueprint import (
    REQUIRED,
    Bind,
    Blueprint,
    Devices,
    Directory,
    File,
    Link,
    Memory,
    NotUnderstood,
    Processes,
    ReadOnly,
    read_blueprint,
)
from skills_runtime.sandbox.bubblewrap import Bubblewrap
from skills_runtime.sandbox.profiles import PROFILES, policy_for
from tests.unit.sandbox.test_plans import FINDINGS, INNER, PLACE, ROOT

LEAST = (
    "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--disable-userns",
    "--new-session", "--cap-drop", "ALL", "--clearenv", "--uid", "1000", "--gid", "1001", "--hostname", "host",
    "--chdir", "/place", "--seccomp", "4",
)  # fmt: skip
VALUED = {"--cap-drop", "--uid", "--gid", "--hostname", "--chdir", "--seccomp"}


def read(*words: str, inputs: dict[int, bytes] | None = None) -> Blueprint:
    return read_blueprint([word.encode() for word in (*LEAST, *words)], inputs or {})


def test_the_frame_is_what_the_first_process_is_born_with() -> None:
    frame = read("--unshare-net").frame
    assert (frame.user, frame.group) == (1000, 1001)
    assert frame.namespaces == {"user", "pid", "ipc", "uts", "net"}


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("--bind /a /b", Bind(b"/b", b"/a", read_only=False, optional=False)),
        ("--ro-bind /a /b", Bind(b"/b", b"/a", read_only=True, optional=False)),
        ("--ro-bind-try /a /b", Bind(b"/b", b"/a", read_only=True, optional=True)),
        ("--tmpfs /a", Memory(b"/a", 0o755, b"")),
        ("--size 7 --perms 1777 --tmpfs /a", Memory(b"/a", 0o1777, b"7")),
        ("--dir /a", Directory(b"/a", 0o755)),
        ("--symlink target /a", Link(b"/a", b"target")),
        ("--perms 0444 --file 5 /a", File(b"/a", 0o444, b"text", covers=False)),
        ("--perms 0444 --ro-bind-data 5 /a", File(b"/a", 0o444, b"text", covers=True)),
        ("--proc /a", Processes(b"/a")),
        ("--dev /a", Devices(b"/a")),
        ("--remount-ro /a", ReadOnly(b"/a")),
    ],
)
def test_each_option_is_a_step(words: str, step: object) -> None:
    assert read(*words.split(), inputs={5: b"text"}).steps == (step,)


def test_what_is_said_of_one_step_is_not_true_of_the_next() -> None:
    steps = read("--size", "7", "--perms", "1777", "--tmpfs", "/a", "--tmpfs", "/b").steps
    assert steps[1] == Memory(b"/b", 0o755, b"")


def test_variables_are_those_that_are_named() -> None:
    assert read("--setenv", "A", "1", "--setenv", "B", "--bind").variables == {b"A": b"1", b"B": b"--bind"}


@pytest.mark.parametrize(
    "words",
    [
        "--overlay-src /a --overlay /b /c /d", "--unshare-all", "--share-net", "--as-pid-1", "--dev-bind /dev /dev",
        "--bind /a", "--bind /a b", "--bind /a /b/../c", "--remount-ro /..", "--unknown", "word", "--setenv A",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_left_to_the_program(words: str) -> None:
    with pytest.raises(NotUnderstood):
        read(*words.split())


@pytest.mark.parametrize("missing", sorted(option.decode() for option in REQUIRED))
def test_a_fence_with_less_is_left_to_the_program(missing: str) -> None:
    place = LEAST.index(missing)
    words = [*LEAST[:place], *LEAST[place + (2 if missing in VALUED else 1) :]]
    with pytest.raises(NotUnderstood):
        read_blueprint([word.encode() for word in words], {})


def test_a_fence_that_keeps_a_right_is_left_to_the_program() -> None:
    words = ["CAP_CHOWN" if word == "ALL" else word for word in LEAST]
    with pytest.raises(NotUnderstood):
        read_blueprint([word.encode() for word in words], {})


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "danger"])
def test_every_plan_is_understood_with_everything_that_it_mounts(profile: str) -> None:
    policy = policy_for(profile, PLACE)  # pyright: ignore[reportArgumentType]
    enclosed = Bubblewrap().enclose(policy, ROOT, FINDINGS, INNER)
    assert enclosed.enclosure.blueprint == 0
    inputs = dict(enumerate(enclosed.enclosure.inputs, 3))
    blueprint = read_blueprint(inputs[3].split(b"\0")[:-1], inputs)
    mounting = sum("bind" in word or word in ("--tmpfs", "--proc", "--dev") for word in enclosed.options)
    assert sum(isinstance(step, Bind | Memory | Processes | Devices) or _covers(step) for step in blueprint.steps) == (
        mounting
    )
    assert {Path(place.decode()) for place in (step.place for step in blueprint.steps)} >= set(FINDINGS.hidden_files)


def _covers(step: object) -> bool:
    return isinstance(step, File) and step.covers


def test_the_ground_ends_where_the_workspace_begins() -> None:
    words = [word.encode() for word in (*LEAST, "--ro-bind", "/usr", "/usr", "--bind", "/w", "/w", "--remount-ro", "/")]
    blueprint = read_blueprint(words, {}, {b"/w"})
    assert blueprint.frame.ground == (Bind(b"/usr", b"/usr", read_only=True, optional=False),)
    assert blueprint.steps == (Bind(b"/w", b"/w", read_only=False, optional=False), ReadOnly(b"/"))
