"""The demo, on a terminal and off it."""

import re
from pathlib import Path

from rich.cells import cell_len

from tests.e2e.cli.programs import call, environment, invoke
from tests.e2e.cli.terminals import CONTROL, on_a_terminal


def shown_on_a_terminal(*command: str, cwd: Path, columns: int) -> tuple[int, str]:
    """Run a command on a pseudo terminal; its exit code and all it wrote there."""
    with on_a_terminal(*command, cwd=cwd, columns=columns) as screen:
        return screen.end(), screen.written


def lines_on_screen(written: str) -> list[str]:
    """The lines that are left to read when everything is written."""
    kept = [line.rpartition("\r")[2] for line in CONTROL.sub("", written).replace("\r\n", "\n").split("\n")]
    return [line.rstrip() for line in kept if line.strip()]


def test_the_demo_runs_verifies_and_leads_through_the_result(workspace: Path) -> None:
    answer = call("skills-runtime", "demo", cwd=workspace)
    assert answer.code == 0, answer.err
    assert answer.out == "The report is in deliverables/report.md.\n报告在 deliverables/report.md 中。\n"
    (root,) = (workspace / "demo-output").iterdir()
    assert "运行目录里有什么" in (root / "deliverables/report.md").read_text()
    assert f"demo-output/{root.name}\n  deliverables/report.md " in answer.err
    assert "✓ verified: 41 events, authentic\n" in answer.err
    assert f"  skills-runtime runs show {root.name[4:16]}\n" in answer.err


def test_an_output_that_knows_no_chinese_gets_numbers_instead_of_characters(workspace: Path) -> None:
    answer = call("kgent", "demo", cwd=workspace, env=environment(PYTHONIOENCODING="ascii"))
    assert answer.code == 0, answer.err
    assert "\\u62a5\\u544a" in answer.out
    assert "\\u2713 verified" in answer.err


def test_every_demo_has_a_directory_of_its_own_and_the_commands_it_names_work(workspace: Path) -> None:
    assert invoke("demo", "--output", "a/b").code == 0
    second = invoke("demo", "--output", "a/b")
    assert second.code == 0
    assert len(list((workspace / "a/b").iterdir())) == 2
    named = [line.split()[1:] for line in second.err.partition("try next\n")[2].splitlines()]
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
    assert re.search(r"^run [0-9a-f]{12}  Report what a run directory hol… · scripted", text, re.MULTILINE)
    assert [len(re.findall(rf"^  {number}  file_", text, re.MULTILINE)) for number in range(1, 5)] == [1, 1, 1, 1]
    assert re.search(r"^  2  file_write \.\./outside\.md +path_escape +\d+ ms$", text, re.MULTILINE)
    assert re.search(r"^ done  1 deliverable +4 steps · .+ · 4\.1k tokens$", text, re.MULTILINE)
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") > 0


def test_a_terminal_of_40_columns_is_enough(workspace: Path) -> None:
    code, written = shown_on_a_terminal("kgent", "demo", "--no-color", cwd=workspace, columns=40)
    assert code == 0, written
    assert not [line for line in lines_on_screen(written) if cell_len(line) > 40]
    assert not re.search(r"\x1b\[[0-9;]*m", written)
