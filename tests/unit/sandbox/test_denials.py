"""Judging from what is known of an end: what the proxy decided, what the kernel counted, what programs say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.ports import Grant, LimitName, RaisedLimit
from skills_runtime.sandbox.denials import Denial, ProcessOutcome, find_denials
from skills_runtime.sandbox.egress import EgressRecord
from skills_runtime.sandbox.policy import CAREFUL, SandboxPolicy
from skills_runtime.sandbox.protected_paths import Findings
from tests.support import users

WORKSPACE = Path("/project")
POLICY = SandboxPolicy(profile="workspace-write", workspace=WORKSPACE, limits=CAREFUL)
FINDINGS = Findings(
    read_only=(WORKSPACE / ".git/config", WORKSPACE / ".git/hooks", WORKSPACE / ".mcp.json"),
    hidden_files=(WORKSPACE / ".env",),
    hidden_directories=(WORKSPACE / ".skills_runtime_sdk",),
)


@pytest.fixture
def outside() -> Iterator[Path]:
    """A directory that is no part of any workspace, and not in `/tmp`, of which every command has its own."""
    with users.outside() as made:
        yield made


def judged(stderr: str = "", *, policy: SandboxPolicy = POLICY, **known: Any) -> tuple[Denial, ...]:
    values: dict[str, Any] = {"cwd": WORKSPACE, "exit_code": 1, "stderr": stderr, **known}
    return find_denials(ProcessOutcome(**values), policy, FINDINGS)


def decision(verdict: str, kind: str, host: str = "example.com") -> EgressRecord:
    values = {"number": 1, "stage": "decided", "protocol": "connect", "host": host, "port": 443, "verdict": verdict}
    return msgspec.convert({**values, "reason": "no rule allows it", "kind": kind}, EgressRecord)


def test_a_decision_of_the_proxy_is_proof() -> None:
    (denial,) = judged(decisions=(decision("deny", "not_allowed"),))
    assert (denial.certainty, denial.what, denial.target) == ("proven", "network", "example.com:443")
    assert denial.grant == Grant(hosts=("example.com:443",))


def test_a_decision_of_the_proxy_counts_even_if_the_command_went_on() -> None:
    assert judged(exit_code=0, decisions=(decision("deny", "not_allowed"),))


def test_a_host_that_a_rule_denies_gets_no_grant() -> None:
    (denial,) = judged(decisions=(decision("deny", "denied"),))
    assert denial.grant is None


def test_an_address_within_gets_no_grant() -> None:
    (denial,) = judged(decisions=(decision("deny", "not_allowed", "10.0.0.1"),))
    assert denial.grant is None
    assert "private" in denial.sentence


def test_what_the_proxy_allowed_is_no_denial() -> None:
    assert judged(decisions=(decision("allow", ""),)) == ()


def test_without_a_fence_nothing_is_a_denial() -> None:
    danger = msgspec.structs.replace(POLICY, profile="danger")
    assert judged("touch: cannot touch '/usr/x': Read-only file system", policy=danger) == ()


@pytest.mark.parametrize(
    ("known", "name"),
    [
        ({"exceeded": "memory"}, "memory_bytes"),
        ({"exceeded": "disk"}, "disk_bytes"),
        ({"exceeded": "output"}, "output_bytes"),
        ({"counted": {"out_of_memory_kills": 1}}, "memory_bytes"),
        ({"counted": {"process_limit_hits": 2}}, "processes"),
        ({"signal": 25, "exit_code": None}, "file_bytes"),
        ({"signal": 24, "exit_code": None}, "cpu_seconds"),
    ],
)
def test_what_was_counted_is_proof(known: dict[str, Any], name: LimitName) -> None:
    (denial,) = judged(**known)
    assert (denial.certainty, denial.what, denial.target) == ("proven", "limit", name)
    assert denial.grant == Grant(limits=(RaisedLimit(name, 2 * getattr(CAREFUL, name)),))


def test_a_command_that_met_a_limit_and_went_on_is_no_denial() -> None:
    assert judged(exit_code=0, counted={"process_limit_hits": 2, "out_of_memory_kills": 1}) == ()


def test_the_kernel_s_own_signal_for_a_call_is_proof() -> None:
    (denial,) = judged(exit_code=None, signal=31)
    assert (denial.certainty, denial.what, denial.grant) == ("proven", "system_call", None)


def test_an_exit_code_that_looks_like_that_signal_is_only_a_suspicion() -> None:
    (denial,) = judged(exit_code=159)
    assert (denial.certainty, denial.what) == ("suspected", "system_call")


WRITES = [
    "fatal: could not create work tree dir 'PLACE': Read-only file system",
    "fatal: could not create leading directories of 'PLACE': Permission denied",
    "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: 'PLACE'",
    "error: could not create directory: 'PLACE': Permission denied (os error 13)",
    "open PLACE: read-only file system",
    "mkdir PLACE: permission denied",
    "java.io.FileNotFoundException: PLACE (Read-only file system)",
    "Errno::EROFS: Read-only file system @ rb_sysopen - PLACE",
    'rsync: [receiver] mkstemp "PLACE" failed: Read-only file system (30)',
    "Fatal error: can't create PLACE: Read-only file system",
    "make: *** [Makefile:3: install] Error 1\ninstall: cannot create regular file 'PLACE': Read-only file system",
    "Error: EACCES: permission denied, mkdir 'PLACE'",
    "npm error Error: EROFS: read-only file system, mkdir 'PLACE'",
    "mv: cannot move 'a' to 'PLACE': Read-only file system",
    "zsh: read-only file system: PLACE",
    "bash: line 1: PLACE: No such file or directory",
]


@pytest.mark.parametrize("text", WRITES)
def test_the_path_is_found_in_the_words_of_many_programs(text: str, outside: Path) -> None:
    (denial,) = judged(text.replace("PLACE", f"{outside}/new"))
    assert (denial.certainty, denial.what, denial.target) == ("suspected", "write", f"{outside}/new")
    assert denial.grant == Grant(writable=(str(outside),))


def test_what_is_there_and_not_shown_was_to_be_read(outside: Path) -> None:
    (outside / "file").touch()
    (denial,) = judged(f"cat: {outside}/file: No such file or directory")
    assert (denial.what, denial.grant) == ("read", Grant(readable=(f"{outside}/file",)))


def test_a_redirection_says_that_it_was_to_be_written(outside: Path) -> None:
    (outside / "file").touch()
    argv = ("/bin/sh", "-c", f"echo x > {outside}/file")
    (denial,) = judged(f"sh: 1: cannot create {outside}/file: Permission denied", argv=argv)
    assert (denial.what, denial.grant) == ("write", Grant(writable=(f"{outside}/file",)))


@pytest.mark.parametrize("name", [".git/config", ".git/hooks/pre-commit", ".mcp.json"])
def test_what_programs_outside_obey_gets_no_grant(name: str) -> None:
    (denial,) = judged(f"touch: cannot touch '{name}': Read-only file system")
    assert (denial.what, denial.target, denial.grant) == ("write", f"/project/{name}", None)
    assert "obey" in denial.sentence


@pytest.mark.parametrize(
    "text",
    [
        "cat: missing: No such file or directory",
        "ls: cannot access '/nonexistent/directory': No such file or directory",
        "bash: ./program: Permission denied",
        "/tmp/new: No such file or directory",
        "E   AssertionError: 'Read-only file system' != 'ok'",
        "curl: (6) Could not resolve host: example.com",
    ],
)
def test_a_command_that_failed_by_itself_is_no_denial(text: str) -> None:
    assert judged(text) == ()


def test_in_a_workspace_that_is_read_only_a_part_of_it_can_be_opened(outside: Path) -> None:
    (outside / "build").mkdir()
    policy = msgspec.structs.replace(POLICY, workspace=outside, access="read", profile="read-only")
    (denial,) = judged("touch: cannot touch 'build/x': Read-only file system", policy=policy, cwd=outside)
    assert denial.grant == Grant(writable=(f"{outside}/build",))


def test_what_holds_secrets_outside_is_not_even_confirmed_to_be_there(outside: Path) -> None:
    (outside / ".ssh").mkdir()
    (outside / ".ssh/id_rsa").touch()
    assert judged(f"cat: {outside}/.ssh/id_rsa: No such file or directory") == ()


def test_many_complaints_are_reported_as_a_few() -> None:
    text = "\n".join(f"touch: cannot touch '/usr/{number}': Read-only file system" for number in range(1000))
    assert len(judged(text)) == 8


@given(st.text(max_size=300), st.integers(0, 255))
def test_no_text_breaks_it(text: str, code: int) -> None:
    judged(text, exit_code=code, stdout=text)


@given(st.text(alphabet="'\"`‘’ /:abc.\n", max_size=200))
def test_no_quoting_breaks_it(text: str) -> None:
    for reason in ("Read-only file system", "Permission denied", "No such file or directory"):
        judged(f"{text}: {reason}: {text}")
