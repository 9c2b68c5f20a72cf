"""What programs outside obey is never opened to writing, wherever it lies; reading it is another matter."""

from pathlib import Path

import pytest

from skills_runtime.errors import SandboxError
from skills_runtime.ports import Grant, LimitName, RaisedLimit
from skills_runtime.sandbox.grants import apply_grant, program_directories, why_not_host, why_not_path
from skills_runtime.sandbox.policy import CAREFUL, SandboxPolicy

HOME = "/".join(("", "home", "somebody"))
MAC = "/".join(("", "Users", "somebody"))
POLICY = SandboxPolicy(profile="read-only", workspace=Path("/data/.codex/tree"), access="read", limits=CAREFUL)


@pytest.mark.parametrize(
    "path",
    [
        f"{HOME}/.bashrc", f"{HOME}/.gitconfig", "/data/other/.git", "/data/other/.git/hooks",
        "/data/other/.GIT/config", "/data/other/.vscode/tasks.json", f"{HOME}/.claude/settings.json",
        f"{HOME}/.config/autostart/x.desktop",
        f"{HOME}/.config/systemd/user", f"{HOME}/.local/bin", f"{HOME}/.local/bin/tool", f"{HOME}/bin",
        f"{HOME}/go/bin", f"{HOME}/.foo/bin", f"{MAC}/Library/LaunchAgents", f"{MAC}/Library",
        f"{HOME}/.cargo/bin",
        "/srv/home/.config", "/srv/home/.local", "/srv/home/.local/share", f"{HOME}/.vimrc", f"{HOME}/.emacs.d/init.el",
        "/opt/mine/bin", "/opt/mine", "/opt/mine/bin/x", "/var/spool/cron", "/etc/cron.d",
    ],
)  # fmt: skip
def test_what_programs_obey_cannot_be_written(path: str) -> None:
    programs = program_directories({"PATH": "/usr/bin:/opt/mine/bin:relative:"})
    assert why_not_path(path, writing=True, programs=programs) is not None


@pytest.mark.parametrize(
    "path",
    [
        "/data/out",
        f"{HOME}/project/bin",
        f"{HOME}/.cache/pip",
        f"{HOME}/.cargo/registry",
        "/opt/other",
        "/data/Library",
    ],
)
def test_everything_else_can_be_written(path: str) -> None:
    programs = program_directories({"PATH": "/opt/mine/bin"})
    assert why_not_path(path, writing=True, programs=programs) is None


@pytest.mark.parametrize(
    "path", [f"{HOME}/.bashrc", "/data/other/.git", f"{HOME}/.local/bin", f"{HOME}/.cargo/registry"]
)
def test_what_programs_obey_may_be_read(path: str) -> None:
    assert why_not_path(path, writing=False) is None


@pytest.mark.parametrize(
    "path",
    ["/srv/home/.config", "/srv/home/.local/share", "/srv/home/.local", "/srv/home/.cargo",
     "/srv/home/.mozilla/firefox", "/srv/home/.local/share/keyrings/login.keyring", f"{MAC}/Library"],
)  # fmt: skip
def test_what_holds_secrets_cannot_be_read(path: str) -> None:
    assert why_not_path(path, writing=False) is not None


def test_the_place_of_a_workspace_says_nothing_of_what_is_in_it() -> None:
    place = "/data/.codex/tree/src"
    assert apply_grant(POLICY, Grant(writable=(place,)), resolve=str).writable == (Path(place),)


@pytest.mark.parametrize("name", [".git", ".git/hooks", ".vscode", "sub/.bashrc"])
def test_what_is_protected_in_a_workspace_stays_so(name: str) -> None:
    with pytest.raises(SandboxError, match="obey"):
        apply_grant(POLICY, Grant(writable=(f"{POLICY.workspace}/{name}",)), resolve=str)


@pytest.mark.parametrize("path", ["/" + "a/" * 3000 + "b", "/data/" + "a" * 256, "/data/" + "ü" * 128])
def test_a_path_that_no_kernel_takes_is_too_long(path: str) -> None:
    assert why_not_path(path, writing=False) == "it is too long for a path"


@pytest.mark.parametrize(
    ("name", "value"),
    [("memory_bytes", 1 << 63), ("file_bytes", 1 << 51), ("open_files", 1 << 21), ("processes", 1 << 30)],
)
def test_a_limit_that_no_machine_has_is_refused(name: LimitName, value: int) -> None:
    with pytest.raises(SandboxError, match="cannot be"):
        apply_grant(POLICY, Grant(limits=(RaisedLimit(name, value),)), resolve=str)


@pytest.mark.parametrize(
    "name", ["localhost.localdomain", "a.localdomain", "fritz.box", "x.home.arpa", "db.svc", "a.lan"]
)
def test_names_of_networks_within_are_refused(name: str) -> None:
    assert why_not_host(f"{name}:443") is not None
