"""What an approval is bound to: whatever would make it another call changes the key."""

from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import ApprovalRequest, FileTouch, Intent, ToolSpec
from skills_runtime.safety.approvals.request import draft_request, propose_rule, rule_record
from skills_runtime.safety.gate import add_run_rules
from skills_runtime.safety.guard import Facts, assess
from skills_runtime.safety.policy import Ask, Rules, add_rule, decide, load_rules
from skills_runtime.safety.sanitize import Fingerprint
from skills_runtime.tools.scripts import digest_scripts

SHELL = ToolSpec(name="shell_command", description="Runs it.", parameters={"type": "object"})
WRITE = ToolSpec(name="file_write", description="Writes it.", parameters={"type": "object"})
CUSTOM = ToolSpec(
    name="custom",
    description="Does it.",
    parameters={"type": "object", "properties": {"bound": {}, "text": {}, "seen": {}}},
    hidden_arguments=("text",),
)


def key(arguments: dict[str, Any], intent: Intent | None = None) -> str:
    return draft_request(
        CUSTOM, arguments, intent or Intent(), assess(CUSTOM, None), Ask("rule"), Fingerprint(b"secret")
    ).key


def test_an_argument_named_bound_counts_like_any_other() -> None:
    intent = Intent(digests={"script": "1"})
    assert key({"bound": "one"}, intent) != key({"bound": "two"}, intent)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", "b"),
        ({"A": "x', 'B': 'y"}, {"A": "x", "B": "y"}),
        (1, "1"),
        (None, "None"),
        (["rm", "x"], "['rm', 'x']"),
        ({"a": "b"}, "{'a': 'b'}"),
    ],
)
def test_two_hidden_values_are_never_the_same(one: Any, other: Any) -> None:
    assert key({"text": one}) != key({"text": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (2**53, 2**53 + 1), (1e300, 10**300 + 1), ("\u00e9", "e\u0301"), ("a", "a\u200b"), (True, 1), ([], {})],
)
def test_two_visible_values_are_never_the_same(one: Any, other: Any) -> None:
    assert key({"seen": one}) != key({"seen": other})


@pytest.mark.parametrize(
    "change",
    [
        {"digests": {"script": "2"}},
        {"environment": {"A": "2"}},
        {"fence": {"effective": "none"}},
        {"files": (FileTouch(path="a", touch="change", before_sha256="2"),)},
    ],
)
def test_whatever_a_call_would_do_otherwise_changes_the_key(change: dict[str, Any]) -> None:
    assert key({}, Intent(**change)) != key({}, Intent())


def test_another_real_directory_changes_the_key() -> None:
    assert key({}, Intent(fence={"cwd": "/ws/a"})) != key({}, Intent(fence={"cwd": "/ws/b"}))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    for name in ("x.sh", "x.py", "p.awk", "p.sed", "sub/only.sh", "sub/deep/deeper.sh"):
        (tmp_path / name).write_text("echo one")
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "bash x.sh",
        "./x.sh",
        ". ./x.sh",
        "timeout 5 bash x.sh",
        "bash -c 'bash x.sh'",
        "cd sub && ./only.sh",
        "python3.11 x.py",
        "chmod +x x.sh && ./x.sh",
        "bash < x.sh",
        "python3 - < x.py",
        "cat x.sh | bash",
        "cd -- sub && ./only.sh",
        "cd -P sub; ./only.sh",
        "cd sub; cd deep; ./deeper.sh",
        "env -C sub ./only.sh",
        "bash --init-file=x.sh",
        "BASH_ENV=x.sh bash -c ls",
        "awk -f p.awk",
        "sed -f p.sed x.py",
    ],
)
def test_an_approval_of_a_command_is_bound_to_the_script_it_names(place: Path, line: str) -> None:
    assert digest_scripts(Intent(line=line), place)


def test_a_script_that_a_link_leads_to_is_bound_by_its_content(place: Path) -> None:
    (place / "link.sh").symlink_to("x.sh")
    before = digest_scripts(Intent(line="bash link.sh"), place)
    (place / "x.sh").write_text("echo two")
    assert digest_scripts(Intent(line="bash link.sh"), place) != before


def allowed_after(spec: ToolSpec, approved: Intent, other: Intent) -> bool:
    """Whether the rule made of an approved call allows another call."""
    request = ApprovalRequest(approval_key="0" * 64, tool=spec.name, summary="", intent=approved)
    rules = Rules(rules=(propose_rule(request, "run"),), root="/ws")
    return type(decide(assess(spec, other), rules)).__name__ == "Allow"


@pytest.mark.parametrize("line", ["git status", "pytest tests/a.py", "rm a.txt"])
def test_a_rule_made_of_a_call_allows_that_call(line: str) -> None:
    assert allowed_after(SHELL, Intent(line=line), Intent(line=line))


@pytest.mark.parametrize(
    ("approved", "other"),
    [
        ("rm a.txt", "rm a.txt b.txt"),
        ("pip install requests", "pip install requests other"),
        ("make", "make deploy"),
        ("rm a.txt", "rm b.txt"),
        ("rm a.txt", "rm a.txt; rm b.txt"),
        ("rm a.txt", "rm a.txt > out"),
        ("rm a.txt", "rm $X"),
        ("rm a.txt", "./rm a.txt"),
    ],
)
def test_a_rule_made_of_a_command_allows_no_other(approved: str, other: str) -> None:
    assert not allowed_after(SHELL, Intent(line=approved), Intent(line=other))


@pytest.mark.parametrize("change", [{"directory": "elsewhere"}, {"environment": {"TARGET": "production"}}])
def test_a_rule_made_of_a_command_allows_it_only_where_and_as_it_was(change: dict[str, Any]) -> None:
    assert not allowed_after(SHELL, Intent(line="make"), Intent(line="make", **change))


@pytest.mark.parametrize(("approved", "other"), [("a.txt", "b.txt"), ("out/a.txt", "a.txt"), ("a.txt", "out/a.txt")])
def test_a_rule_made_of_a_file_allows_no_other(approved: str, other: str) -> None:
    one, two = (Intent(files=(FileTouch(path=path, touch="create"),)) for path in (approved, other))
    assert allowed_after(WRITE, one, one)
    assert not allowed_after(WRITE, one, two)


def folder_request(**more: Any) -> ApprovalRequest:
    return ApprovalRequest(approval_key="0" * 64, tool="x", summary="", **more)


def test_rules_of_one_call_for_two_folders_fit_into_one_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    for request in (folder_request(folder="/a"), folder_request(folder="/b"), folder_request(folder="/a")):
        add_rule(file, propose_rule(request, "folder"))
    add_rule(file, propose_rule(folder_request(folder="/a"), "user"))
    assert [rule.folder for rule in load_rules(file.read_text(), origin="test")] == ["/a", "/b", ""]


def test_a_request_of_an_older_log_means_its_working_directory() -> None:
    assert propose_rule(folder_request(workspace="/a"), "folder").folder == "/a"


@pytest.mark.parametrize("folder", ["", "relative", "/a\nb", "/a\u202eb"])
def test_no_rule_is_made_for_a_folder_that_has_no_plain_name(folder: str) -> None:
    with pytest.raises(ValidationFailed, match="folder"):
        propose_rule(folder_request(folder=folder), "folder")


def test_a_rule_of_the_run_for_a_folder_counts_only_there() -> None:
    record = rule_record(propose_rule(folder_request(folder="/a"), "folder"), "folder")
    kinds = [
        type(decide(Facts(tool="x"), add_run_rules(Rules(mode="ask", root=root), [record]))).__name__
        for root in ("/a", "/b", "")
    ]
    assert kinds == ["Allow", "Ask", "Ask"]
