"""The demo, on a terminal and off it."""

import re
import subprocess
from pathlib import Path

from rich.cells import cell_len

from tests.e2e.cli.programs import SCRIPTS, call, environment, invoke
from tests.e2e.cli.terminals import CONTROL, on_a_terminal


def shown_on_a_terminal(*command: str, cwd: Path, columns: int) -> tuple[int, str]:
    """Run the demo on a pseudo terminal and approve its call; its exit code and all it wrote there."""
    with on_a_terminal(*command, cwd=cwd, columns=columns) as screen:
        screen.page_to("allow? ")
        screen.type("y\n")
        return screen.end(), screen.written


def lines_on_screen(written: str) -> list[str]:
    """The lines that are left to read when everything is written."""
    kept = [line.rpartition("\r")[2] for line in CONTROL.sub("", written).replace("\r\n", "\n").split("\n")]
    return [line.rstrip() for line in kept if line.strip()]


def test_the_demo_runs_verifies_and_leads_through_the_result(workspace: Path) -> None:
    answer = call("skills-runtime", "demo", cwd=workspace)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("The report is in deliverables/report.md. ")
    (root,) = (workspace / "demo-output").iterdir()
    assert "## Processors · 处理器" in (root / "deliverables/report.md").read_text()
    assert f"demo-output/{root.name}\n  deliverables/report.md " in answer.err
    assert re.search(r"^✓ verified: \d+ events, authentic$", answer.err, re.MULTILINE)
    assert f"  skills-runtime runs show {root.name[4:16]}\n" in answer.err


def test_the_demo_approves_its_own_call_where_nobody_can_and_says_so(workspace: Path) -> None:
    answer = call("skills-runtime", "demo", cwd=workspace)
    assert "     asks  medium risk: skill_exec " in answer.err
    assert "     decided  approved by the demo itself: no terminal is attached\n" in answer.err
    assert re.search(r"^  2  skill_exec \S+get-available-resources +exit 0", answer.err, re.MULTILINE)


def test_a_user_at_the_terminal_decides_about_the_skill_of_the_demo(workspace: Path) -> None:
    with on_a_terminal("skills-runtime", "demo", cwd=workspace, columns=100) as screen:
        screen.expect("A skill is a program")
        screen.expect("skill_exec needs your approval")
        screen.page_to("allow? ")
        screen.type("n\n")
        screen.expect("why? ")
        screen.type("not today\n")
        screen.expect("try next")
        assert screen.end() == 0
    assert "exit 0" not in screen.text.partition("Now a command writes the report")[0]


def test_the_commands_of_the_demo_work_as_printed(workspace: Path) -> None:
    bare = {name: value for name, value in environment().items() if name != "PATH"} | {"PATH": "/usr/bin:/bin"}
    (workspace / "bin").symlink_to(SCRIPTS)
    command = ["bin/skills-runtime", "demo"]
    done = subprocess.run(command, cwd=workspace, env=bare, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    printed = done.stderr.decode().partition("try next\n")[2].splitlines()
    assert [line.split()[0] for line in printed] == ["bin/skills-runtime"] * 5
    assert printed.pop().endswith(" init")  # asks for a provider
    for line in printed:
        assert (
            subprocess.run(line, shell=True, cwd=workspace, env=bare, capture_output=True, check=False).returncode == 0
        )


def test_an_output_that_knows_no_chinese_gets_ascii_marks_and_numbers(workspace: Path) -> None:
    answer = call("kgent", "demo", cwd=workspace, env=environment(PYTHONIOENCODING="ascii"))
    assert answer.code == 0, answer.err
    assert "\\u62a5\\u544a" in answer.out
    assert "ok verified" in answer.err
    assert answer.err.isascii()


def test_a_c_locale_gets_ascii_marks(workspace: Path) -> None:
    answer = call("skills-runtime", "demo", cwd=workspace, env=environment(LC_ALL="C"))
    assert answer.code == 0, answer.err
    assert "ok verified" in answer.err
    listed = call("skills-runtime", "runs", "list", cwd=workspace, env=environment(LC_ALL="C"))
    assert "  ok completed  " in listed.out
    heading, row = listed.out.splitlines()
    assert heading.index("task") == row.index("Scripted demo")


def test_every_demo_has_a_directory_of_its_own_and_the_commands_it_names_work(workspace: Path) -> None:
    assert invoke("demo", "--output", "a/b").code == 0
    second = invoke("demo", "--output", "a/b")
    assert second.code == 0
    assert len(list((workspace / "a/b").iterdir())) == 2
    named = [line.split()[1:] for line in second.err.partition("try next\n")[2].splitlines()]
    assert named.pop() == ["init"]
    assert [" ".join(words[:2]) for words in named][-1] == "runs list"
    assert [invoke(*words).code for words in named] == [0, 0, 0, 0]


def test_the_demo_does_not_care_what_else_is_configured(workspace: Path) -> None:
    (workspace / "kgent.yaml").write_text(
        "safety: {mode: deny}\nrun: {max_steps: 1}\ndeliverables: {required: [x.md]}\n"
    )
    assert invoke("demo").code == 0


def test_a_terminal_of_80_columns_shows_each_step_once_and_gets_its_cursor_back(workspace: Path) -> None:
    code, written = shown_on_a_terminal("kgent", "demo", cwd=workspace, columns=80)
    assert code == 0, written
    lines = lines_on_screen(written)
    assert not [line for line in lines if cell_len(line) > 80]
    text = "\n".join(lines)
    assert re.search(r"^run [0-9a-f]{12}  Scripted demo: report what.* · scripted", text, re.MULTILINE)
    assert [len(re.findall(rf"^  {number}  \w+", text, re.MULTILINE)) for number in range(1, 5)] == [1, 1, 1, 1]
    assert re.search(r"^  2  skill_exec \S+ +exit 0 +\d+ ms$", text, re.MULTILINE)
    assert re.search(r"^ done  1 deliverable +4 steps · .+ tokens$", text, re.MULTILINE)
    assert text.count("The report is in deliverables/report.md.") == 1
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") > 0


def test_a_terminal_of_40_columns_is_enough(workspace: Path) -> None:
    code, written = shown_on_a_terminal("kgent", "demo", "--no-color", cwd=workspace, columns=40)
    assert code == 0, written
    assert not [line for line in lines_on_screen(written) if cell_len(line) > 40]
    assert not re.search(r"\x1b\[[0-9;]*m", written)
