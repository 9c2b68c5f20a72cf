"""Judging from what is known of an end: what the proxy decided, what the kernel counted, what programs say."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.sandbox.denials import Aftermath, Denial, Grant, LimitName, NoSurroundings, RaisedLimit, denials_of
from skills_runtime.sandbox.egress import EgressRecord
from skills_runtime.sandbox.policy import CAREFUL, SandboxPolicy
from skills_runtime.sandbox.survey import Findings

WORKSPACE = Path("/project")
HOME = "/".join(("", "home", "somebody"))
POLICY = SandboxPolicy(profile="workspace-write", workspace=WORKSPACE, limits=CAREFUL)
FINDINGS = Findings(
    read_only=(WORKSPACE / ".git",),
    hidden_files=(WORKSPACE / ".env",),
    hidden_directories=(WORKSPACE / ".skills_runtime_sdk",),
    placeholders=(WORKSPACE / ".mcp.json",),
)


class Outside:
    """A machine on which a few things are."""

    def __init__(self, *paths: str, programs: dict[str, str] | None = None) -> None:
        self._paths = {Path("/"), *map(Path, paths)}
        self._programs = programs or {}

    def exists(self, path: Path) -> bool:
        return path in self._paths

    def program(self, name: str) -> Path | None:
        found = self._programs.get(name)
        return Path(found) if found else None


def judged(
    stderr: str = "", *, policy: SandboxPolicy = POLICY, outside: Outside | None = None, **known: Any
) -> tuple[Denial, ...]:
    values: dict[str, Any] = {"cwd": WORKSPACE, "exit_code": 1, "stderr": stderr, **known}
    left = Aftermath(**values)
    return denials_of(left, policy, FINDINGS, outside or NoSurroundings())


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


def test_where_there_is_a_network_nothing_is_blamed_on_the_fence() -> None:
    open_policy = msgspec.structs.replace(POLICY, network="host")
    assert judged("curl: (6) Could not resolve host: example.com", policy=open_policy) == ()


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
    "fatal: could not create work tree dir '/data/x': Read-only file system",
    "fatal: could not create leading directories of '/data/x': Permission denied",
    "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: '/data/x'",
    "error: failed to write `/data/x`\n\nCaused by:\n  Read-only file system (os error 30)",
    "error: could not create directory: '/data/x': Permission denied (os error 13)",
    "open /data/x: read-only file system",
    "mkdir /data/x: permission denied",
    "java.io.FileNotFoundException: /data/x (Read-only file system)",
    "Errno::EROFS: Read-only file system @ rb_sysopen - /data/x",
    "rsync: [receiver] mkstemp \"/data/x\" failed: Read-only file system (30)",
    "Fatal error: can't create /data/x: Read-only file system",
    "make: *** [Makefile:3: install] Error 1\ninstall: cannot create regular file '/data/x': Read-only file system",
    "Error: EACCES: permission denied, mkdir '/data/x'",
    "npm error Error: EROFS: read-only file system, mkdir '/data/x'",
    "shutil.Error: [('a', '/data/x', \"[Errno 30] Read-only file system: '/data/x'\")]",
    "mv: cannot move 'a' to '/data/x': Read-only file system",
    "zsh: read-only file system: /data/x",
]  # fmt: skip


@pytest.mark.parametrize("text", WRITES)
def test_the_path_is_found_in_the_words_of_many_programs(text: str) -> None:
    denial = judged(text, outside=Outside("/data"))[0]
    assert (denial.what, denial.target) == ("write", "/data/x")
    assert denial.grant == Grant(writable=("/data",))


HOSTS = [
    "pip._vendor.urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='example.com', port=443): Max retries "
    "exceeded (Caused by NewConnectionError: [Errno -3] Temporary failure in name resolution)",
    "npm error request to https://example.com/left-pad failed, reason: getaddrinfo EAI_AGAIN example.com",
    "error: failed to download\n  [6] Couldn't resolve host name (Could not resolve host: example.com)",
    "go: example.com/x: dial tcp: lookup example.com: Temporary failure in name resolution",
    "Err:1 http://example.com:443 stable InRelease\n  Temporary failure resolving 'example.com'",
    "Error: connect ENETUNREACH example.com:443",
    "wget: unable to resolve host address ‘example.com’",
]


@pytest.mark.parametrize("text", HOSTS)
def test_the_host_is_found_in_the_words_of_many_programs(text: str) -> None:
    denial = judged(text)[0]
    assert (denial.certainty, denial.what, denial.target) == ("suspected", "network", "example.com:443")


def test_a_program_that_only_the_user_has_is_named_with_where_it_is() -> None:
    outside = Outside(programs={"cargo": "/opt/rust/bin/cargo"})
    (denial,) = judged("bash: line 1: cargo: command not found", exit_code=127, outside=outside)
    assert (denial.what, denial.target, denial.grant) == ("program", "cargo", Grant(readable=("/opt/rust/bin",)))


def test_a_program_that_nobody_has_is_no_denial() -> None:
    assert judged("bash: line 1: cargo: command not found", exit_code=127) == ()


def test_in_a_workspace_that_is_read_only_a_part_of_it_can_be_opened() -> None:
    reading = msgspec.structs.replace(POLICY, access="read", profile="read-only")
    outside = Outside("/project", "/project/build")
    denial = judged("touch: cannot touch 'build/x': Read-only file system", policy=reading, outside=outside)[0]
    assert denial.grant == Grant(writable=("/project/build",))


def test_what_holds_secrets_outside_is_not_even_confirmed_to_be_there() -> None:
    outside = Outside(f"{HOME}/.ssh", f"{HOME}/.ssh/id_rsa")
    assert judged(f"cat: {HOME}/.ssh/id_rsa: No such file or directory", outside=outside) == ()


def test_many_complaints_are_told_as_a_few() -> None:
    text = "\n".join(f"touch: cannot touch '/usr/{number}': Read-only file system" for number in range(1000))
    assert len(judged(text)) == 8


@given(st.text(max_size=300), st.integers(0, 255))
def test_no_text_breaks_it(text: str, code: int) -> None:
    judged(text, exit_code=code, stdout=text)


@given(st.text(alphabet="'\"`‘’ /:abc.\n", max_size=200))
def test_no_quoting_breaks_it(text: str) -> None:
    for reason in ("Read-only file system", "Permission denied", "No such file or directory"):
        judged(f"{text}: {reason}: {text}")
