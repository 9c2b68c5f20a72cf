"""A request for approval as people see it: exact, whole on request, and obeyed by nobody's terminal."""

import io
from typing import Any

import pytest
from rich.console import Console

from skills_runtime.cli.terminal import approval_lines, detail_lines, find_line_argument
from skills_runtime.engine import build_rules
from skills_runtime.ports import ApprovalRequest, FileTouch, Intent

FENCE = {
    "active": True,
    "adapter": "bubblewrap",
    "profile": "workspace-write",
    "network": "none",
    "promises": ["fs_write"],
}


def shown(
    intent: Intent | None = None, *, whole: bool = False, details: dict[str, Any] | None = None, **more: Any
) -> str:
    """What somebody sees, without the spaces at the ends of lines."""
    file = io.StringIO()
    console = Console(file=file, width=80, color_system=None, markup=False, highlight=False)
    request = ApprovalRequest(
        approval_key="k",
        tool=more.pop("tool", "do"),
        summary="s",
        details=details or {},
        intent=intent or Intent(),
        **more,
    )
    for line in detail_lines(request) if whole else approval_lines(request):
        console.print(line)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_a_command_stands_behind_a_prompt_and_each_of_its_lines_does() -> None:
    text = shown(Intent(line="cat <<END\nallow? y\nEND"), details={"command": "cat <<END\nallow? y\nEND"})
    assert "       $ cat <<END\n       > allow? y\n       > END" in text
    assert "command =" not in text


def test_a_program_is_shown_as_one_would_type_it() -> None:
    assert "       $ grep 'a b' c" in shown(
        Intent(argv=("grep", "a b", "c")), details={"command": ["grep", "a b", "c"]}
    )


FULL = Intent(
    line="make",
    directory="src",
    environment={"CI": "a b"},
    hosts=("example.com",),
    justification="to build",
    escalated=True,
    fence={**FENCE, "gaps": ["disk: nothing limits it"]},
)
RISK = {"level": "high", "reason": "odd", "part": "make"}


def test_a_card_shows_every_part_of_the_call_and_why_it_is_asked_about() -> None:
    text = shown(FULL, rule="rule `make` (rules.yaml)", why="builds are slow", risk=RISK)
    assert text.splitlines() == [
        "     do needs your approval · high risk: odd",
        "       $ make",
        "       directory  src",
        "       sets       CI='a b'",
        "       hosts      example.com",
        "       reason     the model says: to build",
        "       sandbox workspace-write, no network · builds are slow",
    ]


def test_everything_that_helps_to_judge_a_call_is_among_the_details() -> None:
    text = shown(FULL, whole=True, rule="rule `make` (rules.yaml)", why="builds are slow", risk=RISK)
    for line in (
        "       risk       high, odd: make",
        "       asked by   rule `make` (rules.yaml): builds are slow",
        "       wants      more access than the sandbox allows",
        "       reason     the model says: to build",
        "       sandbox    bubblewrap · workspace-write · network none · 1 gap",
        "       gaps       disk: nothing limits it",
    ):
        assert line in text.splitlines()


def test_a_line_that_is_too_long_is_cut_where_the_terminal_ends() -> None:
    last = shown(FULL, rule="r", why="x" * 200).splitlines()[-1]
    assert (len(last), last[-1]) == (80, "…")


def test_a_call_without_a_sandbox_says_so() -> None:
    intent = Intent(argv=("ls",), fence={"active": False})
    assert "no sandbox: it runs with all your permissions" in shown(intent)
    assert "sandbox    none: the command runs with all your permissions" in shown(intent, whole=True)


def test_all_of_the_fence_is_shown_on_request() -> None:
    fence = {**FENCE, "argv": ["bwrap", "--", "ls"], "gaps": ["disk: nothing limits it"]}
    text = shown(Intent(argv=("ls",), fence=fence), whole=True)
    assert "runs       bwrap -- ls" in text
    assert "promises   fs_write" in text
    assert "gaps       disk: nothing limits it" in text


FILES = {
    "workspace": "/w",
    "writable": ["/w", "/out"],
    "readable": ["/skills/one"],
    "system": ["/usr"],
    "temporary": "/tmp",
    "protected": [f"/w/{name}" for name in ("a", "b", "c", "d", "e")],
    "hidden": ["/w/.env"],
    "left_out": {"protected": 7},
}


def test_the_path_of_the_workspace_is_among_the_details() -> None:
    assert "       workspace  /home/me/project" in shown(workspace="/home/me/project", whole=True).splitlines()


def test_a_card_names_the_first_hosts_of_an_open_network() -> None:
    egress = {"allow": ["a.example", "b.example", "c.example"], "allow_private": [], "deny": ["evil.example"]}
    text = shown(Intent(line="make", fence={**FENCE, "network": "allow-list", "egress": egress, "file_access": FILES}))
    assert "sandbox workspace-write, network a.example, b.example and 1 more" in text


def test_a_request_about_a_host_names_it_once() -> None:
    text = shown(Intent(hosts=("a.example:443",)), details={"host": "a.example", "port": 443}, rule="r")
    assert text.splitlines()[1:] == ["       hosts      a.example:443", "       asked by r"]
    other = shown(Intent(hosts=("a.example:443",)), details={"host": "b.example", "port": 443})
    assert "host =     b.example" in other


def test_all_places_and_hosts_are_reported_on_request() -> None:
    egress = {"allow": ["example.com:443"], "deny": ["evil.example"]}
    text = shown(Intent(line="make", fence={**FENCE, "egress": egress, "file_access": FILES}), whole=True)
    assert "protected  ./a, ./b, ./c, ./d, ./e and 7 more" in text
    assert "reaches    example.com:443" in text
    assert "never      evil.example" in text


def test_the_name_of_a_place_moves_no_cursor() -> None:
    files = {**FILES, "hidden": ["/w/.env\x1b[2J"]}
    assert "\x1b" not in shown(Intent(line="make", fence={**FENCE, "file_access": files}))


def test_changes_of_files_are_shown_instead_of_their_contents() -> None:
    diff = "--- a/a.md\n+++ b/a.md\n@@ -1 +1,2 @@\n-old\n+new\n+more"
    intent = Intent(files=(FileTouch(path="a.md", touch="overwrite", diff=diff),))
    text = shown(intent, details={"path": "a.md", "content": "new\nmore\n"}, tool="file_write")
    assert "       overwrite a.md  +2  -1\n         @@ -1 +1,2 @@\n         -old\n         +new\n         +more" in text
    assert "content" not in text
    assert "---" not in text


def test_an_argument_that_nothing_else_tells_is_shown() -> None:
    text = shown(Intent(line="ls"), details={"command": "ls", "timeout_ms": 5, "content": "x", "where": "."})
    assert "timeout_ms =  5" in text
    assert "content =     x" in text
    assert "where =       ." in text


def test_long_changes_are_cut_visibly_and_shown_whole_on_request() -> None:
    diff = "\n".join(f"+line {number}" for number in range(100))
    intent = Intent(files=(FileTouch(path="a.md", touch="create", diff=diff),))
    assert "+line 99" not in shown(intent)
    assert "… 94 more lines" in shown(intent)
    assert "+line 99" in shown(intent, whole=True)


def test_long_arguments_are_cut_visibly_and_shown_whole_on_request() -> None:
    content = "\n".join(f"line {number}" for number in range(100))
    assert "line 99" not in shown(details={"text": content})
    assert "more characters" in shown(details={"text": content})
    assert "line 99" in shown(details={"text": content}, whole=True)


@pytest.mark.parametrize(
    "intent",
    [
        Intent(line="echo " + "x" * 5000 + "; rm last"),
        Intent(line="\n".join(["true"] * 200 + ["rm last"])),
        Intent(argv=("echo", "x" * 5000, "rm last")),
        Intent(typed="x" * 5000 + "; rm last"),
        Intent(line="make", environment={"A": "x" * 5000, "B": "rm last"}),
    ],
)
def test_a_long_command_is_shown_whole(intent: Intent) -> None:
    assert "rm last" in shown(intent).replace("\n", "").replace("  ", "")


EVIL = "hello\x1b[2J\x1b]0;owned\x07\nallow? y\u202e"


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "intent",
    [
        Intent(line=EVIL),
        Intent(argv=(EVIL,)),
        Intent(typed=EVIL),
        Intent(directory=EVIL, line="ls"),
        Intent(environment={EVIL: EVIL}),
        Intent(hosts=(EVIL,), skill=EVIL, digests={EVIL: EVIL}, justification=EVIL),
        Intent(files=(FileTouch(path=EVIL, touch="change", diff=EVIL),)),
        Intent(fence={"active": True, "adapter": EVIL, "gaps": [EVIL], "argv": [EVIL], "promises": [EVIL]}),
    ],
)
def test_nothing_of_a_call_reaches_the_terminal_as_it_is(intent: Intent, *, whole: bool) -> None:
    more = {"rule": EVIL, "why": EVIL, "risk": {"level": EVIL, "reason": EVIL, "part": EVIL}}
    text = shown(intent, whole=whole, details={"a": EVIL, EVIL: [EVIL]}, **more)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "hello" in text


def test_arguments_whose_names_look_alike_are_both_shown() -> None:
    text = shown(details={"a\x00": "first", r"a\x00": "second"})
    assert "first" in text
    assert "second" in text


def test_an_argument_cannot_pass_for_what_we_say_ourselves() -> None:
    text = shown(details={"risk": "none at all"}, risk={"level": "high", "reason": "odd"}, whole=True)
    assert "risk =  " in text
    assert "risk       high, odd" in text


def request(intent: Intent, **details: object) -> ApprovalRequest:
    return ApprovalRequest(approval_key="k" * 64, tool="shell", summary="s", details=details, intent=intent)


def test_a_rule_of_a_command_is_about_that_command() -> None:
    rules, problem = build_rules(request(Intent(line="git status"), command="git status"))
    exact = (("git", "status", "$"),)
    assert {scope: rule.command for scope, rule in rules.items()} == dict.fromkeys(("run", "user"), exact)
    assert problem is None  # only the folder is not known


@pytest.mark.parametrize("line", ["make && rm x", "echo $HOME", "curl x | sh"])
def test_no_rule_is_made_of_a_line_that_says_more(line: str) -> None:
    assert build_rules(request(Intent(line=line)))[0] == {}


@pytest.mark.parametrize(
    "intent",
    [
        Intent(argv=("cat", "*")),
        Intent(argv=("cat", "**")),
        Intent(files=(FileTouch(path="*", touch="create"),)),
        Intent(files=(FileTouch(path="a[b].md", touch="create"),)),
    ],
)
def test_no_rule_is_made_of_a_name_that_would_stand_for_others(intent: Intent) -> None:
    assert build_rules(request(intent))[0] == {}


def test_the_argument_that_is_the_command_is_known_only_where_it_is_one() -> None:
    assert find_line_argument(request(Intent(line="ls"), command="ls", n=1)) == "command"
    assert find_line_argument(request(Intent(line="ls"), command="ls", other="ls")) is None
    assert find_line_argument(request(Intent(argv=("ls",)), command=["ls"])) is None
