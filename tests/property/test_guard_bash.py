"""The shell itself is asked: what bash runs the guard has found, and what the guard calls harmless changes nothing."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skills_runtime.safety.guard import read_line
from tests.support.examples import examples
from tests.support.shell_lines import CanaryTree, shell_lines
from tests.unit.safety.guard.corpus import ROWS

BASH = shutil.which("bash")
assert BASH is not None, "bash is what these tests compare with; the setup of this project is written in it too"

SYNTAX = r"""
echo cat true x -c a b env bash sh eval ' " \ $( ) ` ( { } ; && || | & <<E <<'E' <<-E E <<< > < >& 2>&1 $ $x ${x} ${x:-
} $(( )) (( [[ ]] # = x= x=canary $' $" * ? ~ ! if then fi for in do done case esac f() function <( >( \' \" \` export
declare let trap alias =~ == a[ ] $[ += time |& ;& &> command builtin local unset read test printf %s $(< $@ EXIT -v
{a,canary} {canary,}
"""
SPACES = (
    " ",
    " ",
    "\n",
    "\n",
    "\t",
    "\\\n",
    "\nE\n",
    "; do ",
    "; then ",
    "; fi",
    "; done",
    "set -- canary;",
    "bash -c '",
)
PIECES = [*["canary"] * 12, *SYNTAX.split(), *SPACES]
RANDOM = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", "", " "])), min_size=2, max_size=14).map(
    lambda pieces: "".join(piece + space for piece, space in pieces)
)
SHORT = [row.line.replace("rm -rf /", "canary") for row in ROWS if "rm -rf /" in row.line and len(row.line) < 60]
HARMLESS = [
    line for line in SHORT if not any(name in line for name in ("sudo", "curl", "ssh", "docker", "xargs", "find"))
]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A line of the corpus with something taken out or put in."""
    line = draw(st.sampled_from(HARMLESS))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.sampled_from(["", *PIECES])) + line[at + draw(st.integers(0, 2)) :]
    return line


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a program that leaves a mark, and nothing dangerous beside it."""
    home = tmp_path_factory.mktemp("canary")
    programs = home / "programs"
    programs.mkdir()
    (home / "work").mkdir()
    (programs / "canary").write_text(f"#!{shutil.which('sh')}\n: > '{home}/mark'\n")
    (programs / "canary").chmod(0o755)
    for name in ("bash", "sh", "env", "cat"):
        if text := shutil.which(name):
            (programs / name).symlink_to(text)
    return home


def runs(home: Path, line: str) -> bool:
    """Whether bash, given the line, starts the program."""
    (home / "mark").unlink(missing_ok=True)
    with contextlib.suppress(subprocess.TimeoutExpired, ValueError):
        subprocess.run(
            [str(BASH), "-c", line],
            cwd=home / "work",
            env={"PATH": str(home / "programs")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=5,
            check=False,
        )
    return (home / "mark").exists()


def is_seen(line: str) -> bool:
    """Whether the guard has found the program, or has said that it cannot tell; a file of code is somebody else's."""
    reading = read_line(line)
    names = {(command.words[0] or "").rpartition("/")[2] for command in reading.commands}
    return bool(reading.unclear) or bool(names & {"canary", "source", "."})


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.one_of(RANDOM, damaged()))
def test_what_bash_runs_the_guard_has_seen(canary: Path, line: str) -> None:
    if "canary" in line and not is_seen(line):
        assert not runs(canary, line)


@pytest.mark.parametrize("line", ["canary", "true && canary", "bash -c canary", "x=$(canary)"])
def test_the_mark_is_left_when_the_program_runs(canary: Path, line: str) -> None:
    assert runs(canary, line)
    assert is_seen(line)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> CanaryTree:
    return CanaryTree(tmp_path_factory.mktemp("tree"))


def is_harmless(line: str) -> bool:
    """Whether the guard says that a line only looks."""
    reading = read_line(line)
    return reading.risk.level == "low" and not reading.unclear and not reading.writes


@settings(max_examples=examples(1200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=shell_lines())
def test_what_the_guard_calls_harmless_changes_nothing_and_runs_nothing(tree: CanaryTree, line: str) -> None:
    if is_harmless(line):
        assert not tree.is_harmed_by(line)


@pytest.mark.parametrize(
    "line",
    [
        "sort -o out a.txt",
        "sort *.txt",
        "git diff *.md",
        "sed p *.c",
        "find *e",
        "uniq ?.txt",
        "canary",
        "x=$(cat code.txt); echo $((x))",
        "[ $(cat options.txt) ]",
        "for f in *.txt; do sort $f; done",
        "for PATH in src; do ls; done",
    ],
)
def test_what_harms_the_tree_is_not_called_harmless(tree: CanaryTree, line: str) -> None:
    assert tree.is_harmed_by(line)
    assert not is_harmless(line)


@pytest.mark.parametrize("line", ["ls *", "cat *.txt | head", "git diff", 'for f in *; do wc -l "$f"; done'])
def test_a_line_that_only_looks_is_called_harmless(tree: CanaryTree, line: str) -> None:
    assert is_harmless(line)
    assert not tree.is_harmed_by(line)
