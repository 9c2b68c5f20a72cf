"""What is found in a line: programs and what they are wrapped in, writes, hosts, and where it stands."""

import pytest

from skills_runtime.safety.guard import read_line


def programs(line: str) -> list[str | None]:
    return [command.words[0] for command in read_line(line).commands]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("env X=1 timeout 5 rm -rf /", ["env", "timeout", "rm"]),
        ("sudo -u root nice -n 5 ls", ["sudo", "nice", "ls"]),
        ("bash -lc 'git status; sh -c \"ls | wc\"'", ["bash", "git", "sh", "ls", "wc"]),
        ("a; b && c || d & e | f", ["a", "b", "c", "d", "e", "f"]),
        ("echo $(date) `whoami` <(ls)", ["echo", "ls", "whoami", "date"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for x in $(a); do b; done", ["a", "b"]),
        ("case $(a) in x) b;; *) c;; esac", ["a", "b", "c"]),
        ("f() { a; }; f; b", ["a", "b"]),
        ("find . -exec a {} \\; -exec b {} +", ["find", "a", "b"]),
        ("ls | xargs -n 1 a", ["ls", "xargs", "a"]),
        ("cat <<E | a\n$(b)\nE", ["cat", "a", "b"]),
        ("X=$(a) Y=1 b", ["a", "b"]),
        ("python -m pytest -q", ["python", "pytest"]),
        ("busybox sh -c a", ["busybox", "sh", "a"]),
        ("trap 'a' EXIT", ["trap", "a"]),
        ("echo 'a; b' | sh", ["echo", "sh", "a", "b"]),
        ("[[ $(a) ]] && [ $(b) ]", ["a", "[", "b"]),
        ("export X=$(a)", ["export", "a"]),
    ],
)
def test_every_program_is_found(line: str, expected: list[str]) -> None:
    assert sorted(map(str, programs(line))) == sorted(expected)


def test_a_wrapped_command_is_deeper_than_its_wrapper() -> None:
    found = {command.words[0]: command.depth for command in read_line("env timeout 5 bash -c ls").commands}
    assert found == {"env": 0, "timeout": 1, "bash": 2, "ls": 3}


def test_quoting_is_undone() -> None:
    (command,) = read_line(r"""g"i"t \lo'g' "--format=%h $'x'" $'\x2dn' {1,2}""").commands
    assert command.words == ("git", "log", "--format=%h $'x'", "-n", "1", "2")


def test_what_only_the_running_shell_knows_is_nothing() -> None:
    (command,) = read_line('cat "$name" *.txt ~user x').commands
    assert command.words == ("cat", None, None, None, "x")


def test_a_variable_that_the_line_sets_once_is_known() -> None:
    assert read_line("name=a.txt; cat $name").commands[0].words == ("cat", "a.txt")


def test_a_variable_that_is_given_is_known() -> None:
    assert read_line("cat $NAME", {"NAME": "/etc/shadow"}).risk.level == "high"


def test_a_variable_that_is_set_twice_is_not_known() -> None:
    reading = read_line("name=a; name=b; cat $name")
    assert reading.commands[0].words == ("cat", None)
    assert reading.unclear


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("echo a > out", ("out",)),
        ("echo a >> out 2> err", ("out", "err")),
        ("echo a &> all", ("all",)),
        ("echo a > $x", (None,)),
        ("echo a > /dev/null 2>&1", ()),
        ("echo a >&2 > /dev/stderr", ()),
        ("cat < in", ()),
        ("{ a; b; } > out", ("out",)),
        ("cat <<E > out\nx\nE", ("out",)),
        ("bash -c 'echo a > out'", ("out",)),
        ("> out", ("out",)),
    ],
)
def test_the_targets_of_redirections_are_collected(line: str, writes: tuple[str | None, ...]) -> None:
    assert read_line(line).writes == writes


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("curl https://user:pw@example.org:8080/x", ("example.org",)),
        ("git clone git@example.org:a/b.git", ("example.org",)),
        ("ssh -p 22 me@example.org", ("example.org",)),
        ("scp a me@example.org:b", ("example.org",)),
        ("echo x > /dev/tcp/example.org/80", ("example.org",)),
        ("bash -c 'curl http://a.example http://b.example'", ("a.example", "b.example")),
        ("ls", ()),
    ],
)
def test_hosts_are_collected(line: str, hosts: tuple[str, ...]) -> None:
    assert read_line(line).hosts == hosts


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("echo ok; sudo ls", "sudo ls"),
        ("bash -c 'echo ok; rm -rf /'", "/"),
        ("sh -c \"sh -c 'find . -delete'\"", "-delete"),
        ("echo 文档; rm -rf ~", "~"),
    ],
)
def test_the_span_points_at_the_part_in_the_outermost_line(line: str, part: str) -> None:
    risk = read_line(line).risk
    assert risk.part == part
    assert risk.span is not None
    start, end = risk.span
    assert line[start:end] == part


def test_code_that_does_not_stand_there_word_for_word_has_the_span_of_its_word() -> None:
    line = "bash -c $'rm\\x20-rf /'"
    start, end = read_line(line).risk.span or (0, 0)
    assert line[start:end] == "$'rm\\x20-rf /'"


def test_an_empty_line_does_nothing() -> None:
    reading = read_line("  # only a comment\n")
    assert (reading.commands, reading.unclear, reading.risk.level) == ((), "", "low")
