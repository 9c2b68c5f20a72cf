"""policy check and policy explain: the decision, the rule, and an exit code for each."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.programs import invoke
from tests.e2e.cli.test_bad_input import assert_refused

RULES = """
rules:
  - name: status
    effect: allow
    command: git status
    justification: it only looks
  - name: no-push
    effect: deny
    command: git push
    justification: people push
"""


@pytest.fixture
def rules(workspace: Path, home: Path) -> Path:
    path = home / ".config" / "skills_runtime" / "rules.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULES)
    path.with_name("config.yaml").write_text("safety: {mode: ask}\n")
    return workspace


def decision(*arguments: str, stdin: bytes = b"") -> dict[str, Any]:
    answer = invoke("policy", *arguments, stdin=stdin)
    assert answer.err == ""
    return json.loads(answer.out)


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("git", "status", "--short"), 0, "allow"),
        (("git", "push"), 21, "deny"),
        (("make", "install"), 26, "ask"),
        (("git status | tee x > y",), 26, "ask"),
        (("sh", "-c", "git status; git push"), 21, "deny"),
    ],
)
def test_each_decision_has_its_exit_code(rules: Path, words: tuple[str, ...], code: int, kind: str) -> None:
    answer = invoke("policy", "check", "--json", "--", *words)
    assert (answer.code, json.loads(answer.out)["decision"]) == (code, kind)


def test_the_rule_its_justification_and_every_command_are_shown(rules: Path) -> None:
    answer = invoke("policy", "check", "--", "git status && make")
    assert answer.code == 26
    first, *rest = answer.out.splitlines()
    assert first == "? ask  safety.mode: ask"
    assert "  ✓ command git status  rule `status` (~/.config/skills_runtime/rules.yaml)" in rest
    assert "  · command make  no rule allows it" in rest
    denied = invoke("policy", "check", "--", "git", "push").out
    assert "✗ deny  rule `no-push` (~/.config/skills_runtime/rules.yaml)" in denied
    assert "people push" in denied


def test_the_risk_is_shown_with_its_reason_and_its_part(rules: Path) -> None:
    told = decision("check", "--json", "--", "rm -rf /")
    assert (told["decision"], told["risk"]["level"]) == ("ask", "high")
    assert told["risk"]["reason"] == "deletes a whole tree"
    assert told["risk"]["part"] in "rm -rf /"


AUTOMATIC = {
    "a reading command": ("ls -la | head", 0, "✓ allow  built in: well-known reading command"),
    "a command": ("make && echo done > log.txt", 0, "✓ allow  built in: runs in the sandbox + built in: well-known"),
    "the network": ("make && curl example.com", 26, "  · command curl example.com  uses the network"),
    "a path outside": ("cat ../x", 26, "  · command cat ../x  names a path outside the workspace"),
    "a deny rule": ("make; git push", 21, "✗ deny  rule `no-push` (~/.config/skills_runtime/rules.yaml)"),
}


@pytest.mark.parametrize("name", AUTOMATIC)
def test_the_default_mode_names_the_built_in_rule_or_what_it_asks_about(rules: Path, home: Path, name: str) -> None:
    (home / ".config/skills_runtime/config.yaml").unlink()
    line, code, text = AUTOMATIC[name]
    answer = invoke("policy", "check", "--", line)
    assert answer.code == code
    assert any(shown.startswith(text) for shown in answer.out.splitlines()), answer.out


def test_without_a_sandbox_the_default_mode_asks(rules: Path, home: Path) -> None:
    (home / ".config/skills_runtime/config.yaml").write_text("sandbox: {default_policy: none}\n")
    answer = invoke("policy", "check", "--", "ls")
    assert answer.code == 26
    assert answer.out.startswith("? ask  safety.mode: auto\n  because   no sandbox is active here")


def test_settings_on_the_command_line_count(rules: Path) -> None:
    assert invoke("policy", "check", "--set", "safety.denylist=[make]", "--", "make").code == 21
    assert invoke("policy", "check", "--set", "safety.allowlist=[make]", "--", "make").code == 0
    assert invoke("policy", "check", "--set", "safety.tool_denylist=[shell]", "--tool", "shell", "--", "ls").code == 21


CALLS: dict[str, tuple[dict[str, Any], str, list[tuple[str, str]]]] = {
    "a command": (
        {"tool": "shell_exec", "arguments": {"argv": ["git", "status"]}}, "allow", [("command", "git status")],
    ),
    "an escalated command": (
        {"tool": "shell_command", "arguments": {"command": "git status", "sandbox_permissions": "require_escalated"}},
        "ask", [("command", "git status")],
    ),
    "a file that is read": ({"tool": "file_read", "arguments": {"path": "a.txt"}}, "allow", [("file", "a.txt")]),
    "a file that is written": (
        {"tool": "file_write", "arguments": {"path": "a.txt", "content": "x"}}, "ask", [("file", "a.txt")],
    ),
    "our own state": (
        {"tool": "file_read", "arguments": {"path": ".skills_runtime_sdk/x"}}, "deny",
        [("file", ".skills_runtime_sdk/x")],
    ),
    "a patch": (
        {"tool": "apply_patch", "arguments": {"input": "*** Begin Patch\n*** Add File: b\n+x\n*** End Patch"}},
        "ask", [("file", "b")],
    ),
    "a tool nobody knows": ({"tool": "deploy", "arguments": {"to": "moon"}}, "ask", [("call", "deploy")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_any_call_is_explained(rules: Path, name: str) -> None:
    call, kind, parts = CALLS[name]
    (rules / "call.json").write_text(json.dumps(call))
    told = decision("explain", "--json", "call.json")
    assert told["decision"] == kind
    assert [(part["kind"], part["text"]) for part in told["parts"]] == parts


def test_a_call_may_come_by_the_standard_input(rules: Path) -> None:
    assert decision("explain", "--json", "-", stdin=b'{"tool": "update_plan"}')["tool"] == "update_plan"


def test_nothing_is_run_and_nothing_is_written(rules: Path) -> None:
    invoke("policy", "check", "--", "touch made")
    assert list(rules.iterdir()) == []


def test_rules_of_a_project_that_allow_are_reported_and_do_not_count(rules: Path) -> None:
    (rules / "config").mkdir()
    (rules / "config/rules.yaml").write_text("- {name: theirs, effect: allow, command: make}\n")
    answer = invoke("policy", "check", "--", "make")
    assert answer.code == 26
    assert answer.err.startswith("notice: rule `theirs` in `config/rules.yaml` was ignored")


WRONG = {
    "a rule file that is not understood": ("rules: [{name: a}]", "{}", 20, "config_error", "`effect` must be one of"),
    "no JSON": ("", "{", 20, "validation", "does not describe a call"),
    "no call": ("", "[]", 20, "validation", "does not describe a call"),
    "an unknown key": ("", '{"tool": "x", "args": {}}', 20, "validation", "does not describe a call"),
    "arguments the tool does not take": (
        "", '{"tool": "file_read", "arguments": {"file": "x"}}', 20, "validation", "`file`",
    ),
    "a patch that is none": (
        "", '{"tool": "apply_patch", "arguments": {"input": "x"}}', 20, "validation", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_judged_is_one_clear_error(workspace: Path, name: str) -> None:
    rules, call, code, kind, words = WRONG[name]
    (workspace / "rules.yaml").write_text(rules)
    (workspace / "call.json").write_text(call if call != "{}" else '{"tool": "x"}')
    answer = invoke("policy", "explain", "--set", "safety.rule_files=[rules.yaml]", "call.json")
    assert_refused(answer, code, kind, words)


def test_a_call_file_that_is_missing_is_not_found(workspace: Path) -> None:
    assert_refused(invoke("policy", "explain", "none.json"), 22, "not_found", "none.json")
