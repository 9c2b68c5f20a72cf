"""skills preflight and skills scan: JSON on stdout, and an exit code that says how bad it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cli.programs import Answer, invoke
from tests.unit.skills.samples import make_skill, skill_text

SPACES = "skills:\n  spaces: [{id: a, namespace: web, sources: [one]}]\n"
FILES = "  sources: [{id: one, type: filesystem, options: {root: one}}]\n"
REDIS = "  sources: [{id: one, type: redis, options: {dsn_env: NO_SUCH_URL, key_prefix: 'x:'}}]\n"


def configured(workspace: Path, text: str = SPACES + FILES) -> None:
    (workspace / "config").mkdir(exist_ok=True)
    (workspace / "config" / "runtime.yaml").write_text(text)


def told(answer: Answer) -> dict[str, Any]:
    assert answer.err == ""
    assert answer.out.endswith("\n")
    return json.loads(answer.out)


def codes(issues: list[dict[str, Any]]) -> list[str]:
    return [issue["code"] for issue in issues]


@pytest.mark.parametrize("name", ["preflight", "validate-config"])
def test_valid_settings_are_reported_as_valid(name: str, workspace: Path) -> None:
    configured(workspace)
    (workspace / ".env").write_text("A=1\n")
    answer = invoke("skills", name, name="skills-runtime-sdk")
    assert answer.code == 0
    assert answer.out.count("\n") == 1
    assert told(answer) == {
        "issues": [],
        "stats": {
            "workspace_root": str(workspace),
            "overlay_paths": [str(workspace / "config" / "runtime.yaml")],
            "env_file": str(workspace / ".env"),
            "issues_total": 0,
            "errors_total": 0,
            "warnings_total": 0,
        },
    }


def test_pretty_is_the_same_on_many_lines(workspace: Path) -> None:
    configured(workspace)
    plain, pretty = invoke("skills", "preflight"), invoke("skills", "preflight", "--pretty")
    assert told(plain) == told(pretty)
    assert pretty.out.count("\n") > 5


def test_a_dotenv_file_may_be_left_alone(workspace: Path) -> None:
    (workspace / ".env").write_bytes(b"\xff\xfe")
    broken = invoke("skills", "preflight")
    assert (broken.code, codes(told(broken)["issues"])) == (10, ["CLI_DOTENV_LOAD_FAILED"])
    assert invoke("skills", "preflight", "--no-dotenv").code == 0


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        (SPACES + "  sources: [{id: one, type: mysql}]\n", 10, ["SKILL_CONFIG_UNKNOWN_SOURCE_TYPE"]),
        (SPACES, 10, ["SKILL_CONFIG_SPACE_SOURCE_NOT_FOUND"]),
        ("skills: {versioning: {enabled: true}}\n", 12, ["SKILL_CONFIG_VERSIONING_IGNORED"]),
        ("skills: {versioning: {pin: true}}\n", 10, ["SKILL_CONFIG_VERSIONING_UNKNOWN_KEYS"]),
        ("skills: {spaecs: []}\n", 10, ["CLI_CONFIG_INVALID"]),
        ("skills: [\n", 10, ["CLI_OVERLAY_INVALID"]),
        ("", 0, []),
    ],
)
def test_preflight_tells_what_is_wrong_with_settings(
    text: str, code: int, expected: list[str], workspace: Path
) -> None:
    configured(workspace, text)
    answer = invoke("skills", "preflight")
    found = told(answer)
    assert (answer.code, codes(found["issues"])) == (code, expected)
    assert found["stats"]["issues_total"] == len(expected)
    assert found["stats"]["errors_total"] == (len(expected) if code == 10 else 0)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--workspace-root", "nowhere"], "CLI_WORKSPACE_ROOT_NOT_FOUND"),
        (["--workspace-root", "file"], "CLI_WORKSPACE_ROOT_INVALID"),
        (["--config", "nowhere.yaml"], "CLI_OVERLAY_NOT_FOUND"),
        (["--set", "skills.spaces=7"], "CLI_CONFIG_INVALID"),
    ],
)
def test_settings_that_cannot_be_read_are_an_issue_with_a_code(
    arguments: list[str], code: str, workspace: Path
) -> None:
    (workspace / "file").write_text("x")
    answer = invoke("skills", "preflight", *arguments)
    assert (answer.code, codes(told(answer)["issues"])) == (10, [code])
    scan = invoke("skills", "scan", *arguments)
    assert (scan.code, codes(told(scan)["errors"])) == (11, [code])


def test_preflight_connects_nothing(workspace: Path) -> None:
    configured(workspace, SPACES + REDIS)
    assert invoke("skills", "preflight").code == 0


def test_a_scan_lists_every_skill(workspace: Path) -> None:
    configured(workspace)
    make_skill(workspace, "one/writer", text=skill_text(extra="license: MIT\n"))
    answer = invoke("skills", "scan")
    report = told(answer)
    assert answer.code == 0
    assert report["scan_id"].startswith("scan_")
    assert (report["errors"], report["warnings"]) == ([], [])
    (skill,) = [each for each in report["skills"] if each["namespace"] == "web"]
    assert skill["skill_name"] == "writer"
    assert skill["mention"] == "$[web].writer"
    assert skill["path"] == str(workspace / "one/writer/SKILL.md")
    assert {
        "space_id",
        "source_id",
        "description",
        "locator",
        "body_size",
        "required_env_vars",
        "metadata",
        "scope",
    } < (skill.keys())
    assert report["stats"]["spaces_total"] == 1
    assert report["stats"]["sources_total"] == 1
    assert report["stats"]["skills_total"] == len(report["skills"])


def test_a_broken_skill_is_an_error_and_the_others_are_listed(workspace: Path) -> None:
    configured(workspace)
    make_skill(workspace, "one/good")
    make_skill(workspace, "one/broken", text="---\nname: broken\n---\n")
    answer = invoke("skills", "scan")
    report = told(answer)
    assert answer.code == 11
    assert codes(report["errors"]) == ["SKILL_SCAN_METADATA_INVALID"]
    assert "broken" in report["errors"][0]["details"]["locator"]
    assert "good" in [skill["skill_name"] for skill in report["skills"]]


def test_warnings_alone_have_a_code_of_their_own(workspace: Path) -> None:
    configured(workspace)
    (workspace / "elsewhere").mkdir()
    make_skill(workspace, "one/good")
    (workspace / "one" / "link").symlink_to(workspace / "elsewhere")
    answer = invoke("skills", "scan")
    assert (answer.code, codes(told(answer)["warnings"])) == (12, ["SKILL_SCAN_LINK_SKIPPED"])


def test_a_source_without_an_address_is_reported_and_the_others_work(workspace: Path) -> None:
    text = SPACES.replace("[one]", "[one, two]") + FILES.replace("]", ", {id: two, type: redis, options: OPTIONS}]")
    configured(workspace, text.replace("OPTIONS", "{dsn_env: NO_SUCH_URL, key_prefix: 'x:'}"))
    make_skill(workspace, "one/good")
    report = told(invoke("skills", "scan"))
    assert codes(report["errors"]) == ["SKILL_SCAN_SOURCE_UNAVAILABLE"]
    assert "NO_SUCH_URL" in report["errors"][0]["message"]
    assert "good" in [skill["skill_name"] for skill in report["skills"]]


def test_hostile_text_of_a_skill_cannot_reach_the_terminal(workspace: Path) -> None:
    configured(workspace)
    make_skill(
        workspace, "one/writer", text='---\nname: writer\ndescription: "é \\e[31m\\u202eb"\nx: "\\u202e\\u200b"\n---\n'
    )
    answer = invoke("skills", "scan")
    assert not set("\x1b\u202e\u200b") & set(answer.out)
    assert "é" in told(answer)["skills"][0]["description"]
