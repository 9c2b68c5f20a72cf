"""An own skill from nothing: created, executed, used by a run; and trust for one that somebody else wrote."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.skills.create import create_skill
from tests.e2e.cli.programs import SCRIPTS, invoke, say, write_config

SAMPLE = '{"text": "one two"}'


def run_in(workspace: Path, task: str, *calls: tuple[str, dict[str, Any]], **sections: Any) -> tuple[int, str]:
    answers = (say("", *calls), say("Done.")) if calls else (say("Done."),)
    write_config(workspace, *answers, **sections)
    answer = invoke("run", "--config", "kgent.yaml", "--prompt", task, "--sandbox", "runs/one")
    return answer.code, answer.err


def test_every_command_that_is_printed_after_skills_new_works(workspace: Path) -> None:
    write_config(workspace, say("Done.")).rename(workspace / "config.yaml")
    created = invoke("skills", "new", "csv-summary", "--python", "--description", "Summarizes CSV files.")
    assert (created.code, created.out) == (0, ".agents/skills/csv-summary/SKILL.md\n")
    heading, *commands = [line.strip() for line in created.err.splitlines()]
    assert (heading, len(commands)) == ("next:", 3)
    for command in commands:
        words = shlex.split(command)
        if words[:2] == ["skills-runtime", "run"]:
            words += ["--config", "config.yaml"]
        program = str(SCRIPTS / words[0]) if words[0] == "skills-runtime" else words[0]
        done = subprocess.run([program, *words[1:]], cwd=workspace, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, (command, done.stderr)


@pytest.mark.parametrize("language", ["--node", "--shell"])
def test_a_program_in_another_language_is_executed_at_once(workspace: Path, language: str) -> None:
    del workspace
    created = invoke("skills", "new", "tool", language)
    command = shlex.split(created.err.splitlines()[1])
    done = invoke(*command[1:])
    assert done.code == 0, done.err
    assert json.loads(done.out)


def test_two_languages_exclude_each_other_and_write_nothing(workspace: Path) -> None:
    answer = invoke("skills", "new", "tool", "--python", "--node")
    assert (answer.code, "exclude each other" in answer.err) == (2, True)
    assert not list(workspace.iterdir())


def test_a_skill_elsewhere_is_executed_from_there(workspace: Path) -> None:
    del workspace
    created = invoke("skills", "new", "tool", "--python", "--dir", "skills")
    assert "--from skills" in created.err
    assert "skills-runtime run" not in created.err
    assert json.loads(invoke("skills", "exec", "tool", "--from", "skills", "--input", SAMPLE).out)["words"] == 2


def test_a_chinese_shell_gets_a_chinese_template(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    invoke("skills", "new", "tool")
    assert "任务" in (workspace / ".agents/skills/tool/SKILL.md").read_text()


def test_what_was_created_here_is_trusted_and_what_was_cloned_is_not(workspace: Path) -> None:
    create_skill("cloned", workspace / ".agents/skills", "Came with the project.", runtime="python")
    invoke("skills", "new", "mine", "--python")
    refused = invoke("skills", "exec", "cloned", "--input", SAMPLE)
    assert (refused.code, "`skills trust cloned`" in refused.err) == (21, True)
    assert invoke("skills", "exec", "mine", "--input", SAMPLE).code == 0
    assert "untrusted $[project].cloned" in invoke("skills", "list").out
    assert invoke("skills", "show", "cloned").code == 0
    assert invoke("skills", "trust", "cloned").out.endswith(".agents/skills/cloned is now trusted\n")
    assert invoke("skills", "exec", "cloned", "--input", SAMPLE).code == 0
    assert invoke("skills", "trust", "cloned", "--remove").out.endswith("is no longer trusted\n")
    assert invoke("skills", "exec", "cloned", "--input", SAMPLE).code == 21


def test_a_directory_of_a_skill_trusts_only_that_skill(workspace: Path) -> None:
    for name in ("one", "two"):
        create_skill(name, workspace / ".agents/skills", f"Is {name}.", runtime="python")
    assert invoke("skills", "trust", ".agents/skills/one").code == 0
    assert [invoke("skills", "exec", name, "--input", SAMPLE).code for name in ("one", "two")] == [0, 21]


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("nothing", 22, "there is no skill `nothing` in this project"),
        ("article-writer", 20, "needs no trust"),
        ("$[project].nothing", 22, "there is no skill"),
    ],
)
def test_only_a_skill_of_the_project_can_be_trusted_by_name(
    workspace: Path, name: str, code: int, message: str
) -> None:
    del workspace
    answer = invoke("skills", "trust", name)
    assert (answer.code, message in answer.err) == (code, True), answer.err


@pytest.mark.parametrize("mention", ["$[web:mvp].article-writer", "$[web:mvp].novel-writer"])
def test_the_skills_of_the_seed_work_in_a_fresh_directory(workspace: Path, mention: str) -> None:
    assert invoke("skills", "show", mention).code == 0
    code, messages = run_in(workspace, f"Use {mention} on bees")
    assert (code, "is active" in messages) == (0, True), messages


def test_a_run_that_names_an_untrusted_skill_fails_before_the_model(workspace: Path) -> None:
    create_skill("cloned", workspace / ".agents/skills", runtime="python")
    code, messages = run_in(workspace, "Use $cloned")
    assert (code, "`skills trust cloned`" in messages) == (21, True), messages
    assert not (workspace / "runs").exists()


def test_a_run_executes_an_own_skill_without_any_switch(workspace: Path) -> None:
    invoke("skills", "new", "counter", "--python")
    arguments = {"skill_mention": "$[project].counter", "action_id": "run", "input": {"text": "one two"}}
    code, messages = run_in(workspace, "Use $counter", ("skill_exec", arguments))
    assert code == 0, messages
    events = [json.loads(line) for line in (workspace / "runs/one/events.jsonl").read_text().splitlines()]
    (finished,) = [event["payload"] for event in events if event["type"] == "tool_call_finished"]
    assert finished["result"]["data"]["output"]["words"] == 2


def test_a_program_that_was_approved_for_good_passes_with_any_input_until_its_skill_changes(workspace: Path) -> None:
    invoke("skills", "new", "counter", "--python")

    def run_with(text: str) -> tuple[int, str]:
        arguments = {"skill_mention": "$[project].counter", "action_id": "run", "input": {"text": text}}
        write_config(workspace, say("", ("skill_exec", arguments)), say("Done."), safety={"mode": "auto"})
        run_id = f"run-{len(text)}"
        options = ("--run-id", run_id, "--approvals", "inbox", "--config", "kgent.yaml")
        code = invoke("run", "--prompt", "Use $counter", *options).code
        log = (workspace / ".skills_runtime_sdk/runs" / run_id / "events.jsonl").read_text()
        return code, log

    code, log = run_with("one")
    assert (code, "approval_requested" in log) == (26, True), log
    approved = invoke("approvals", "approve", "run-3", "--scope", "always", "--no-resume")
    assert (approved.code, "digest: " in approved.err + approved.out) == (0, True), approved.err
    code, log = run_with("one two")
    assert (code, "approval_requested" in log) == (0, False), log
    (workspace / ".agents/skills/counter/added.txt").write_text("more")
    assert run_with("one two three")[0] == 26


def test_an_execution_that_failed_names_its_directory_and_the_command_that_shows_it(workspace: Path) -> None:
    invoke("skills", "new", "counter", "--python")
    failed = invoke("skills", "exec", "counter", "--input", "{}")
    assert failed.code == 23
    hint = failed.err.splitlines()[-1]
    directory, command = hint.split("its files are in ")[1].split("; ")
    assert (workspace / directory / "stderr.txt").read_text() == "the input needs a text named `text`\n"
    shown = invoke(*shlex.split(command.split("`")[1])[1:])
    assert shown.code == 0
    for text in ("failed", "Skill exited with code 2", "exit code: 2", f"directory: {directory}", "named `text`"):
        assert text in shown.out


def test_executions_are_listed_with_their_outcome(workspace: Path) -> None:
    assert invoke("executions", "list").out == "no executions; `skills exec NAME` executes a skill\n"
    assert not list(workspace.iterdir())
    invoke("skills", "new", "counter", "--python")
    for given in (SAMPLE, "{}"):
        invoke("skills", "exec", "counter", "--input", given)
    lines = invoke("executions", "list").out.splitlines()
    assert [line.split()[1] for line in lines] == ["failed", "completed"]
    (failed,) = json.loads(invoke("executions", "list", "--status", "failed", "--json").out)
    assert (failed["skill"], failed["error"]["code"]) == ("counter", "exit_code")
    document = json.loads(invoke("executions", "show", failed["execution_id"], "--json").out)
    assert Path(document["directory"]).name == failed["execution_id"]
    assert invoke("executions", "list", "--skill", "other", "--json").out == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("show", "exec-000000000000"), 22), (("show", "../x"), 22), (("list", "--status", "odd"), 2)],
)
def test_what_is_no_execution_is_refused_with_a_sentence(
    workspace: Path, arguments: tuple[str, ...], code: int
) -> None:
    answer = invoke("executions", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("error: ")
    assert not list(workspace.iterdir())
