"""The private directory: nobody else's, no links, and a socket whose path may be of any length."""

import os
import socket
from pathlib import Path

import pytest

from skills_runtime.errors import AccessRefused, NotFound, ValidationFailed
from skills_runtime.processes.server.client import connect
from skills_runtime.processes.server.directory import STANDARD_ERROR, NoServer, RuntimeDirectory
from skills_runtime.processes.server.runtime_server import Listener


def test_what_is_made_is_private_whatever_the_mask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with RuntimeDirectory.open(tmp_path, create=True) as place:
            place.write("server.json", b"{}")
            Listener(place).socket.close()
            os.close(place.open_log(STANDARD_ERROR))
            modes = {path.name: path.stat().st_mode & 0o777 for path in (place.path, *place.path.iterdir())}
    finally:
        os.umask(before)
    assert modes == {"runtime": 0o700, "server.json": 0o600, "runtime.sock": 0o600, "server.stderr.log": 0o600}


def test_a_directory_that_others_could_enter_is_made_private(tmp_path: Path) -> None:
    open_directory = tmp_path / ".skills_runtime_sdk/runtime"
    open_directory.mkdir(parents=True, mode=0o777)
    open_directory.chmod(0o777)
    RuntimeDirectory.open(tmp_path, create=False).close()
    assert open_directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can give files away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    RuntimeDirectory.open(tmp_path, create=True).close()
    os.chown(tmp_path / ".skills_runtime_sdk/runtime", 65534, 65534)
    with pytest.raises(AccessRefused, match="another user"):
        RuntimeDirectory.open(tmp_path, create=True)


@pytest.mark.parametrize("link", [".skills_runtime_sdk", ".skills_runtime_sdk/runtime"])
def test_a_link_in_place_of_the_directory_is_refused(tmp_path: Path, link: str) -> None:
    (tmp_path / "elsewhere/runtime").mkdir(parents=True)
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValidationFailed, match="not a real"):
        RuntimeDirectory.open(tmp_path, create=True)


def test_a_workspace_without_a_server_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoServer):
        RuntimeDirectory.open(tmp_path, create=False)
    with pytest.raises(NotFound, match="not a directory"):
        RuntimeDirectory.open(tmp_path / "nowhere", create=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", [60, 107, 250])
def test_a_path_of_any_length_has_its_socket(tmp_path: Path, length: int) -> None:
    workspace = tmp_path / ("w" * length)
    workspace.mkdir()
    with RuntimeDirectory.open(workspace, create=True) as place:
        listener = Listener(place)
        connection = connect(place, None)
        accepted, _ = listener.socket.accept()
        connection.close()
        accepted.close()
        listener.close()
        assert not (place.path / "runtime.sock").exists()


def test_a_socket_of_a_dead_server_is_replaced(tmp_path: Path) -> None:
    with RuntimeDirectory.open(tmp_path, create=True) as place:
        Listener(place).socket.close()
        with pytest.raises(NoServer):
            connect(place, None)
        listener = Listener(place)
        connect(place, None).close()
        listener.close()


def test_a_socket_with_waiting_clients_is_kept(tmp_path: Path) -> None:
    with RuntimeDirectory.open(tmp_path, create=True) as place:
        listener = Listener(place)
        client = connect(place, None)
        assert not listener.retire()
        accepted, _ = listener.socket.accept()
        assert listener.retire()
        with pytest.raises(NoServer):
            connect(place, None)
        for one in (client, accepted, listener):
            one.close()


def test_only_one_has_the_lock_and_it_goes_with_the_holder(tmp_path: Path) -> None:
    with RuntimeDirectory.open(tmp_path, create=True) as place, RuntimeDirectory.open(tmp_path, create=True) as other:
        lock = place.lock()
        assert lock is not None
        assert other.lock() is None
        os.close(lock)
        again = other.lock()
        assert again is not None
        os.close(again)


def test_only_one_process_starts_the_server(tmp_path: Path) -> None:
    with RuntimeDirectory.open(tmp_path, create=True) as place, RuntimeDirectory.open(tmp_path, create=True) as other:
        starting = place.lock_starting()
        assert starting is not None
        assert other.lock_starting() is None
        os.close(starting)


def test_a_log_that_has_grown_begins_anew(tmp_path: Path) -> None:
    with RuntimeDirectory.open(tmp_path, create=True) as place:
        (place.path / STANDARD_ERROR).write_bytes(b"x" * (2 << 20))
        os.close(place.open_log(STANDARD_ERROR))
        assert (place.path / STANDARD_ERROR).stat().st_size == 0


def test_a_file_where_the_socket_should_be_is_no_server(tmp_path: Path) -> None:
    with RuntimeDirectory.open(tmp_path, create=True) as place:
        place.write("runtime.sock", b"")
        with pytest.raises(NoServer):
            connect(place, None)
        assert socket.AF_UNIX
