"""What `.gitignore` files leave out; the answers are git's own."""

from pathlib import Path

import pytest

from skills_runtime.tools.search import IgnoreRules, NamePattern, Walk
from tests.support.tools import Workshop

NAMES = ("a.py", "b.o", "build/a.py", "src/a.py", "src/b.o", "src/build/keep", "src/deep/build/x")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    for name in NAMES:
        made.write(name, "x")
    return made


def _left(workshop: Workshop) -> list[str]:
    walk = Walk(workshop.files, ignore=IgnoreRules(workshop.files))
    return [found.path for found in walk.entries(".") if found.kind == "file"]


@pytest.mark.parametrize(
    ("rules", "ignored"),
    [
        ("", []),
        ("# a.py\n\n", []),
        ("*.py", ["a.py", "build/a.py", "src/a.py"]),
        ("*.py\r\n*.o\r\n", ["a.py", "b.o", "build/a.py", "src/a.py", "src/b.o"]),
        ("/a.py", ["a.py"]),
        ("src/*.py", ["src/a.py"]),
        ("build", ["build/a.py", "src/build/keep", "src/deep/build/x"]),
        ("/build/", ["build/a.py"]),
        ("a.py/", []),
        ("src/**/build", ["src/build/keep", "src/deep/build/x"]),
        ("**/build/x", ["src/deep/build/x"]),
        ("*.py\n!src/a.py", ["a.py", "build/a.py"]),
        ("build\n!build/a.py", ["build/a.py", "src/build/keep", "src/deep/build/x"]),
        ("/src/**\n!/src/a.py", ["src/b.o", "src/build/keep", "src/deep/build/x"]),
        ("[ab].*\n![!a].o", ["a.py", "build/a.py", "src/a.py"]),
        ("\\#x\n[\n[z-a]\n\\\n!\n/\n*.o", ["b.o", "src/b.o"]),
    ],
)
def test_rules_leave_out_what_git_leaves_out(rules: str, ignored: list[str], workshop: Workshop) -> None:
    workshop.write(".gitignore", rules)
    assert _left(workshop) == [name for name in NAMES if name not in ignored]


def test_rules_further_down_decide_over_those_above(workshop: Workshop) -> None:
    workshop.write(".gitignore", "*.py\n")
    workshop.write("src/.gitignore", "!a.py\n*.o\n")
    assert _left(workshop) == ["b.o", "src/a.py", "src/build/keep", "src/deep/build/x"]


def test_rules_behind_a_link_are_not_read(workshop: Workshop) -> None:
    workshop.write("rules", "*\n")
    (workshop.root / ".gitignore").symlink_to("rules")
    assert "a.py" in _left(workshop)


@pytest.mark.parametrize("pattern", ["", "!", "\\", "[", "#x", "{" * 40, "{a,b}" * 20, "x" * 600])
def test_a_pattern_that_means_nothing_is_empty(pattern: str) -> None:
    found = NamePattern(pattern)
    assert found.is_empty or found.matches("x") is False
