"""What a redirection reads: enough to stop a call, nothing that allows or needs allowing."""

import pytest

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess, read_line
from skills_runtime.safety.policy import Rule, Rules, decide

SHELL = ToolSpec(name="shell_command", description="", parameters={})
PRIVATE = Rule(effect="deny", name="private", path=("secrets/**",))


def kind(line: str, *rules: Rule, **settings: object) -> str:
    facts = assess(SHELL, Intent(line=line))
    given = Rules(rules=rules, root="/home/user/ws", home="/home/user", **settings)  # pyright: ignore[reportArgumentType]
    return type(decide(facts, given)).__name__


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("cat < a", ("a",)),
        ("cat 0<a 3< b", ("a", "b")),
        ("{ cat; } < a", ("a",)),
        ("while read x; do echo; done < a", ("a",)),
        ("bash -c 'cat < a'", ("a",)),
        ("sh < script.sh", ("script.sh",)),
        ("cat <<E < a\nx\nE", ("a",)),
        ("cat <&3", ()),
        ("cat <<< a", ()),
        ("cat <(echo a)", ()),
        ("cat < <(echo a)", ()),
        ("cat < $X", (None,)),
        ("cat < $X/a", (None, "*/a")),
        ("cat < a*", (None, "a*")),
        ("cat a > b", ()),
    ],
)
def test_the_files_that_redirections_read_are_collected(line: str, reads: tuple[str | None, ...]) -> None:
    assert read_line(line).reads == reads


def test_a_shell_still_runs_what_it_is_fed() -> None:
    assert read_line("sh < script.sh").unclear == "runs what it is fed"


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_a_rule_about_a_path_stops_reading_it(effect: str) -> None:
    rule = Rule(effect=effect, name="private", path=("secrets/**",))  # pyright: ignore[reportArgumentType]
    assert kind("cat < secrets/a", rule, mode="allow").lower() == effect
    assert kind("cat < other/a", rule, mode="allow") == "Allow"


@pytest.mark.parametrize("line", ["cat < $X", "cat < sec*/a", "cat < $X/a"])
def test_a_file_that_only_the_shell_knows_is_asked_about_where_a_rule_denies_paths(line: str) -> None:
    assert kind(line, PRIVATE, mode="allow") == "Ask"
    assert kind(line, mode="allow") == "Allow"


def test_reading_needs_no_rule_beside_the_one_for_the_command() -> None:
    assert kind("cat < a", allowlist=("cat",)) == "Allow"


def test_reading_does_not_stand_for_a_path_that_an_allow_rule_wants() -> None:
    rule = Rule(effect="allow", name="src", command=(("cat",),), path=("src/**",))
    assert kind("cat < src/a", rule) == "Ask"


def test_a_connection_that_is_read_names_its_host() -> None:
    assert read_line("cat < /dev/tcp/example.org/80").hosts == ("example.org",)
