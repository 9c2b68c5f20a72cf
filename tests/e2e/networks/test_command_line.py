"""`sandbox exec` and `sandbox plan` with hosts, as somebody types them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.networks.conftest import PATIENCE, VISIT, Web
from tests.support.users import Unprivileged

PROGRAM = Path(sys.executable).parent / "skills-runtime"
PYTHON = "/usr/bin/python3"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


def words(workspace: Path, *options: str, command: tuple[str, ...]) -> list[str]:
    return [str(PROGRAM), "sandbox", "exec", "--workspace", str(workspace), "--timeout", "60", *options, "--", *command]


def visiting(*urls: str) -> tuple[str, ...]:
    return (PYTHON, "-I", "-c", VISIT, *urls)


def run(command: list[str], **more: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE * 2, **more)


def test_an_allowed_host_is_reached_and_another_is_not(web: Web, workspace: Path, tmp_path: Path) -> None:
    evidence = tmp_path / "evidence.json"
    options = ("--profile", "workspace-net", "--allow-host", f"127.0.0.2:{web.port}", "--evidence", str(evidence))
    done = run(words(workspace, *options, command=visiting(web.url("127.0.0.2"), "http://evil.test/")))
    assert (done.returncode, done.stdout) == (0, "hello\n403 not_allowed\n"), done.stderr
    network = json.loads(evidence.read_bytes())["network"]
    assert (network["mode"], network["allowed"], network["denied"]) == ("allow-list", 1, 1)
    assert [(one["host"], one["stage"]) for one in network["decisions"]] == [
        ("127.0.0.2", "decided"),
        ("127.0.0.2", "ended"),
        ("evil.test", "decided"),
    ]


@pytest.mark.parametrize("profile", ["workspace-write", "read-only"])
def test_hosts_can_be_named_with_any_profile(profile: str, web: Web, workspace: Path) -> None:
    options = ("--profile", profile, "--allow-host", f"127.0.0.2:{web.port}")
    done = run(words(workspace, *options, command=visiting(web.url("127.0.0.2"))))
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


def test_a_denied_host_is_denied_whatever_allows_it(web: Web, workspace: Path) -> None:
    options = ("--allow-host", f"127.0.0.2:{web.port}", "--deny-host", "127.0.0.2")
    done = run(words(workspace, *options, command=visiting(web.url("127.0.0.2"))))
    assert (done.returncode, done.stdout, web.visits) == (0, "403 denied\n", []), done.stderr


def test_a_list_that_names_nothing_lets_nothing_pass(web: Web, workspace: Path) -> None:
    done = run(words(workspace, "--profile", "workspace-net", command=visiting(web.url("127.0.0.2"))))
    assert (done.returncode, done.stdout, web.visits) == (0, "403 address_blocked\n", []), done.stderr


def test_exit_code_and_streams_are_those_of_the_command(workspace: Path) -> None:
    command = ("sh", "-c", "cat; echo no >&2; exit 9")
    done = run(words(workspace, "--allow-host", "good.test", command=command), input="typed")
    assert (done.returncode, done.stdout, done.stderr) == (9, "typed", "no\n")


@pytest.mark.parametrize("option", ["--allow-host", "--allow-private-host", "--deny-host"])
@pytest.mark.parametrize(
    "rule", ["*", "http://good.test/", "a..b", "good.test:0", "good.test:99999", "user@good.test", ""]
)
def test_a_host_that_is_none_starts_nothing(rule: str, option: str, workspace: Path) -> None:
    done = run(words(workspace, option, rule, command=("/usr/bin/touch", "ran")))
    assert done.returncode == 20, done.stderr
    assert "kind: validation" in done.stderr
    assert list(workspace.iterdir()) == []


def test_a_fence_without_a_netruns_of_its_own_is_refused(workspace: Path) -> None:
    options = ("--adapter", "landlock", "--allow-host", "good.test")
    gaps = [word for name in ("protected_paths", "secrets", "processes") for word in ("--accept-gap", name)]
    done = run(words(workspace, *options, *gaps, command=("/usr/bin/touch", "ran")))
    assert done.returncode == 24
    assert "the sandbox cannot promise `network` here: this sandbox cannot give a command its own" in done.stderr
    assert list(workspace.iterdir()) == []


def test_the_plan_shows_a_command_line_that_can_be_read(workspace: Path) -> None:
    command = [str(PROGRAM), "sandbox", "plan", "--workspace", str(workspace), "--allow-host", "good.test", "--json"]
    plan = json.loads(run([*command, "--", "/usr/bin/true"]).stdout)
    assert plan["argv"][-1] == "/usr/bin/true"
    assert len(" ".join(plan["argv"])) < 500
    assert (plan["evidence"]["profile"], plan["evidence"]["network"]) == ("workspace-net", "allow-list")


def test_an_interrupt_ends_command_and_proxy(web: Web, workspace: Path) -> None:
    command = words(workspace, "--allow-host", f"127.0.0.2:{web.port}", command=visiting(web.url("127.0.0.2", "never")))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert web.arrived.acquire(timeout=PATIENCE)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator has somebody else's workspace")
def test_a_root_command_in_the_workspace_of_another_user_has_the_network(web: Web, unprivileged: Unprivileged) -> None:
    options = ("--allow-host", f"127.0.0.2:{web.port}")
    done = run(words(unprivileged.path, *options, command=visiting(web.url("127.0.0.2"))))
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
