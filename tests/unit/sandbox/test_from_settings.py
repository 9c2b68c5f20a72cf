"""From settings to the sandbox of a run: none that lets anything start, none at all, and whose code is protected."""

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from skills_runtime.config.models import SandboxSettings
from skills_runtime.errors import SandboxError
from skills_runtime.ports import ProcessRequest, Sandbox
from skills_runtime.sandbox import NoSandbox, OsSandbox, UnavailableSandbox, build_sandbox, runtime_code

PLACE = Path("/project")


def request(**changes: Any) -> ProcessRequest:
    return ProcessRequest(argv=("echo", "a b"), cwd=PLACE, **changes)


def environment(variables: dict[str, str], **own: str) -> dict[str, str]:
    return dict(NoSandbox(variables).plan(request(environment=own)).environment)


@pytest.mark.parametrize("permissions", ["inherit", "restricted", "require_escalated"])
def test_without_a_fence_nothing_starts(permissions: str) -> None:
    sandbox: Sandbox = UnavailableSandbox()
    with pytest.raises(SandboxError, match="no sandbox is available yet for processes") as caught:
        sandbox.plan(request(permissions=permissions))
    assert caught.value.kind == "sandbox_denied"
    assert "`sandbox.default_policy: none` in your own configuration" in caught.value.hint


def test_unfenced_the_command_stays_as_it_is() -> None:
    sandbox: Sandbox = NoSandbox({})
    plan = sandbox.plan(request())
    assert (plan.argv, plan.cwd) == (("echo", "a b"), PLACE)


def test_what_the_runtime_was_started_with_stays_with_it() -> None:
    found = environment({"PATH": "/p", "OPENAI_API_KEY": "k", "LD_PRELOAD": "x", "HOME": "/h"})
    assert found == {"PATH": "/p", "HOME": "/h", "LANG": "C.UTF-8", "TERM": "dumb"}


def test_what_is_not_known_has_a_default() -> None:
    assert environment({}) == {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}


def test_the_variables_of_a_request_come_last() -> None:
    found = environment({"PATH": "/p", "TERM": "xterm"}, PATH="/mine", NEW="1")
    assert (found["PATH"], found["TERM"], found["NEW"]) == ("/mine", "xterm", "1")


def test_changing_the_variables_later_changes_nothing() -> None:
    variables = {"PATH": "/p"}
    sandbox = NoSandbox(variables)
    variables["PATH"] = "/evil"
    assert sandbox.plan(request()).environment["PATH"] == "/p"


@pytest.mark.parametrize("permissions", ["inherit", "require_escalated"])
def test_the_evidence_says_that_there_is_no_fence(permissions: str) -> None:
    evidence = dict(NoSandbox({}).plan(request(permissions=permissions)).evidence)
    gaps = evidence.pop("gaps")
    assert evidence == {
        "requested": permissions,
        "effective": "none",
        "adapter": "none",
        "active": False,
        "profile": "none",
        "promises": [],
    }
    assert all(isinstance(gap, str) for gap in gaps)
    assert len(gaps) > 1
    assert msgspec.json.decode(msgspec.json.encode(evidence)) == evidence


def test_isolation_that_cannot_be_given_is_refused() -> None:
    with pytest.raises(SandboxError, match="disables it"):
        NoSandbox({}).plan(request(permissions="restricted"))


def test_code_that_the_runtime_runs_is_found_in_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tmp_path.resolve()
    for name in ("environment/lib/packages", "src", "base", "elsewhere"):
        (workspace / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(workspace / "environment"))
    monkeypatch.setattr(sys, "base_prefix", str(workspace / "base"))
    more = [str(workspace / "environment/lib/packages"), str(workspace / "src"), "", str(workspace / "missing")]
    monkeypatch.setattr(sys, "path", [*sys.path, *more])
    assert runtime_code(workspace) == tuple(workspace / name for name in ("base", "environment", "src"))
    assert runtime_code(workspace / "elsewhere") == ()


def test_it_is_read_only_for_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tmp_path.resolve()
    (workspace / "src").mkdir()
    (workspace / "settings.yaml").touch()
    monkeypatch.setattr(sys, "path", [str(workspace / "src"), *sys.path])
    made = build_sandbox(SandboxSettings(), workspace=workspace, variables={}, protected=(workspace / "settings.yaml",))
    assert isinstance(made, OsSandbox)
    _, enclosed = made.explain(ProcessRequest(argv=("/bin/true",), cwd=workspace))
    words = " ".join(enclosed.options)
    for name in ("src", "settings.yaml"):
        assert f"--ro-bind {workspace}/{name} {workspace}/{name}" in words


def test_the_user_s_own_setting_accepts_a_home(tmp_path: Path) -> None:
    workspace, variables = tmp_path.resolve(), {"HOME": str(tmp_path)}
    refusing = build_sandbox(SandboxSettings(), workspace=workspace, variables=variables)
    with pytest.raises(SandboxError, match="is a home directory") as caught:
        refusing.plan(ProcessRequest(argv=("/bin/true",), cwd=workspace))
    assert "sandbox.allow_home" in caught.value.hint
    accepting = build_sandbox(SandboxSettings(allow_home=True), workspace=workspace, variables=variables)
    assert accepting.plan(ProcessRequest(argv=("/bin/true",), cwd=workspace)).evidence["active"] is True
