"""Nothing that is put around a command makes it look better than it is."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.safety.guard import Reading, read_argv, read_line
from tests.support.examples import examples
from tests.unit.safety.guard.corpus import ROWS, height, may_run

WRAPPERS = r"""
env {}
env -i A=1 {}
timeout 5 {}
timeout -k 1 --signal=KILL 5 {}
nice -n 3 {}
nohup {}
setsid {}
stdbuf -oL {}
time {}
command {}
exec {}
ionice -c 3 {}
sudo -n {}
doas {}
busybox {}
strace -f {}
taskset -c 0 {}
chrt -b 0 {}
unshare -r {}
xvfb-run -a {}
flock /tmp/lock {}
watch -x {}
A=1 {}
uv run {}
docker exec box {}
timeout --no-such-option 5 {}
""".strip().splitlines()
"""Before a simple command."""

SURROUNDINGS = (
    "{}; true", "true; {}", "true && {}", "false || {}", "{} &", "( {} )", "{{ {}\n}}", "if true; then {}\nfi",
    "! {}", "for x in 1; do {}\ndone", "while true; do {}\ndone", "case a in a) {}\n;; esac",
    "run_it() {{ {}\n}}; run_it", "echo $( {}\n)", "echo \"$( {}\n)\"", "cat <( {}\n)", "outer=$( {}\n)",
    "true\n{}", "ls > /dev/null; {}", "[[ -n $( {}\n) ]]", "export outer=$( {}\n)",
)  # fmt: skip
"""Around any line."""

SHELLS = r"""
sh -c {}
bash -lc {}
bash -e -o pipefail -c {}
dash -c {}
zsh -c {}
eval {}
trap {} EXIT
bash <<< {}
env bash -c {}
timeout 5 sh -c {}
su root -c {}
script -qc {} /dev/null
flock /tmp/lock -c {}
watch {}
ssh host {}
busybox sh -c {}
find . -exec sh -c {} \;
fish -c {}
git rebase -x {} main
alias ls={}
env -S {}
printf %s {} | sh
""".strip().splitlines()
"""Around any line, as one quoted word."""

LINES = tuple(row.line for row in ROWS)
SIMPLE = tuple(line for line in LINES if line.isascii() and not set(line) & set("$`'\"\\;|&<>(){}[]*?~!#=\n\t\x07"))


def assert_not_better(outer: Reading, inner: Reading) -> None:
    assert height(outer) >= height(inner)
    if inner.unclear:
        assert outer.unclear
    names = {command.words[0] for command in outer.commands}
    missing = {command.words[0] for command in inner.commands} - names
    assert not missing or outer.unclear
    assert may_run(inner) or not may_run(outer)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(SIMPLE), st.lists(st.sampled_from(WRAPPERS), min_size=1, max_size=3))
def test_a_wrapper_never_lowers_the_risk(line: str, wrappers: list[str]) -> None:
    outer = line
    for wrapper in wrappers:
        outer = wrapper.format(outer)
    assert_not_better(read_line(outer), read_line(line))


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(LINES), st.lists(st.sampled_from(SURROUNDINGS), min_size=1, max_size=2))
def test_syntax_around_a_line_never_lowers_the_risk(line: str, surroundings: list[str]) -> None:
    outer = line
    for surrounding in surroundings:
        outer = surrounding.format(outer)
    assert_not_better(read_line(outer), read_line(line))


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(LINES), st.lists(st.sampled_from(SHELLS), min_size=1, max_size=2))
def test_a_shell_around_a_line_never_lowers_the_risk(line: str, shells: list[str]) -> None:
    outer = line
    for shell in shells:
        outer = shell.format(shlex.quote(outer))
    assert_not_better(read_line(outer), read_line(line))


def quoted(draw: st.DrawFn, word: str) -> str:
    """The same word, in another spelling."""
    styles = ("plain", "single", "double", "back", "ansi", "octal", "split")
    match draw(st.sampled_from(styles)):
        case "single":
            return f"'{word}'"
        case "double":
            return f'"{word}"'
        case "back":
            return "".join("\\" + character for character in word)
        case "ansi":
            return "$'" + "".join(f"\\x{ord(character):02x}" for character in word) + "'"
        case "octal":
            return "$'" + "".join(f"\\{ord(character):03o}" for character in word) + "'"
        case "split":
            at = draw(st.integers(0, len(word)))
            return f"{word[:at]}''\"{word[at:]}\""
        case _:
            return word


@st.composite
def respelled(draw: st.DrawFn) -> tuple[str, str]:
    line = draw(st.sampled_from(SIMPLE))
    return line, " ".join(quoted(draw, word) for word in line.split())


@settings(max_examples=examples(300), deadline=None)
@given(respelled())
def test_another_spelling_reads_the_same(lines: tuple[str, str]) -> None:
    line, other = lines
    first, second = read_line(line), read_line(other)
    assert [command.words for command in second.commands] == [command.words for command in first.commands]
    assert (second.risk.level, second.risk.reason, bool(second.unclear)) == (
        first.risk.level,
        first.risk.reason,
        bool(first.unclear),
    )


@pytest.mark.parametrize("line", SIMPLE)
def test_a_program_without_a_shell_is_judged_like_the_line(line: str) -> None:
    assert height(read_argv(line.split())) == height(read_line(line))
