"""What every test relies on is true."""

import errno
import os
import socket
from pathlib import Path

import pytest
from hypothesis import settings

from skills_runtime.errors import NotFound, ToolError
from tests.support.network import NetworkRefused, is_local
from tests.support.users import NOBODY, ChildFailed, Unprivileged


def test_the_home_directory_is_empty_and_the_user_s_own(home: Path) -> None:
    assert Path.home() == home
    assert list(home.iterdir()) == []


def test_the_state_directory_is_inside_the_home_and_not_made_yet(home: Path) -> None:
    state = Path(os.environ["XDG_STATE_HOME"])
    assert state.is_relative_to(home)
    assert not state.exists()


def test_property_tests_are_deterministic() -> None:
    assert settings.default is not None
    assert settings.default.derandomize


def test_connecting_to_another_machine_is_refused() -> None:
    with socket.socket() as outside, pytest.raises(NetworkRefused):
        outside.connect(("192.0.2.1", 80))


def test_asking_for_the_error_code_of_a_connection_is_refused_too() -> None:
    with socket.socket() as outside, pytest.raises(NetworkRefused):
        outside.connect_ex(("192.0.2.1", 80))


def test_connecting_to_this_machine_works() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


@pytest.mark.parametrize(
    ("family", "address", "expected"),
    [
        (socket.AF_UNIX, "/run/some.sock", True),
        (socket.AF_INET, ("127.8.9.10", 1), True),
        (socket.AF_INET, ("localhost", 1), True),
        (socket.AF_INET6, ("::1", 1, 0, 0), True),
        (socket.AF_INET6, ("fe80::1%eth0", 1, 0, 2), False),
        (socket.AF_INET, ("localhost.example.com", 1), False),
        (socket.AF_INET, ("0.0.0.0", 1), False),
        (socket.AF_NETLINK, (0, 0), False),
    ],
)
def test_local_is_only_this_machine(family: int, address: object, expected: bool) -> None:
    assert is_local(family, address) is expected


def test_the_unprivileged_child_is_not_root_and_returns_its_result(unprivileged: Unprivileged) -> None:
    uid = NOBODY if os.geteuid() == 0 else os.geteuid()
    assert unprivileged(lambda: (os.getuid(), os.geteuid())) == (uid, uid)


def test_the_unprivileged_child_can_write_in_its_own_directory(unprivileged: Unprivileged) -> None:
    unprivileged(lambda: (unprivileged.path / "note").write_text("mine"))
    assert (unprivileged.path / "note").read_text() == "mine"


def test_the_unprivileged_child_is_stopped_by_file_modes(unprivileged: Unprivileged) -> None:
    closed = unprivileged.path / "closed"
    closed.write_text("secret")
    closed.chmod(0o000)
    with pytest.raises(PermissionError) as refusal:
        unprivileged(closed.read_text)
    assert refusal.value.errno == errno.EACCES


def test_an_error_of_the_child_is_raised_with_its_fields(unprivileged: Unprivileged) -> None:
    def fail() -> None:
        raise NotFound("no `x`", hint="make one")

    with pytest.raises(NotFound, match="no `x`") as raised:
        unprivileged(fail)
    assert raised.value.hint == "make one"


def test_an_error_that_cannot_travel_is_reported_in_words(unprivileged: Unprivileged) -> None:
    def fail() -> None:
        raise ToolError("timeout", "too slow")

    with pytest.raises(ChildFailed, match="ToolError: too slow"):
        unprivileged(fail)


def test_a_child_that_dies_is_reported(unprivileged: Unprivileged) -> None:
    with pytest.raises(ChildFailed, match="SIGKILL"):
        unprivileged(lambda: os.kill(os.getpid(), 9))
