"""What a skill can and cannot give itself, as a hostile or careless author would try it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from skills_runtime.events.payloads import SkillInjected
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import FileTouch
from skills_runtime.projections import Conversation
from skills_runtime.skills.activation import fill_arguments, list_skill_files
from skills_runtime.skills.skill import Skill
from skills_runtime.testing import FakeModel, says
from tests.e2e.cli.programs import Answer, invoke, say, write_config
from tests.support.agents import Person, Streaming, agent_in, calls, events_of, payloads_of
from tests.support.users import Unprivileged
from tests.unit.agent.skills.test_context import event_of
from tests.unit.skills.samples import make_skill, skill_text
from tests.unit.skills.test_allowed_tools import passes, runs

SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "discovery": {"enabled": False},
}
ASK = {"safety": {"mode": "ask"}, "sandbox": {"default_policy": "none"}}
SHELL = say("", ("shell_command", {"command": "touch made"}))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


def put(path: Path, name: str, body: str = "Do it.\n", extra: str = "", description: str = "Does it.") -> Path:
    return make_skill(path / "skills", name, text=skill_text(name, description, extra=extra, body=body))


def sdk(path: Path, model: Any, task: str = "Go.", **settings: Any) -> Any:
    human = settings.pop("human", None)
    skills = {**SKILLS, **settings.pop("skills", {})}
    return agent_in(path, model, settings={"skills": skills, **settings}, human=human).run(task)


def last(model: FakeModel, request: int) -> str:
    return str(model.requests[request].messages[-1]["content"])


def run_in(workspace: Path, prompt: str, *answers: Any, **sections: Any) -> Answer:
    write_config(workspace, *(answers or (say("Done."),)), **sections)
    return invoke("run", "--config", "kgent.yaml", "--prompt", prompt, "--sandbox", "runs/one")


def activates(name: str) -> Any:
    return say("", ("activate_skill", {"name": name}))


def named_by_the_project(workspace: Path, space: str) -> None:
    skills = {
        "spaces": [{"id": space, "namespace": "theirs", "sources": ["s"]}],
        "sources": [{"id": "s", "type": "filesystem", "options": {"root": "./skills"}}],
    }
    (workspace / "config").mkdir()
    (workspace / "config/runtime.yaml").write_text(yaml.safe_dump({"skills": skills}))


def test_a_project_cannot_pass_its_space_off_as_a_trusted_one(workspace: Path) -> None:
    put(workspace, "releaser", extra="allowed-tools: Bash\n")
    named_by_the_project(workspace, "discovered")
    run_in(workspace, "Go", activates("releaser"), SHELL, say("Done."), **ASK)
    assert not list(workspace.rglob("made"))


def test_skills_that_a_project_names_are_not_used_until_it_is_trusted(workspace: Path) -> None:
    put(workspace, "theirs", "THEIRS\n", extra="triggers: [go]\n")
    named_by_the_project(workspace, "own")
    run_in(workspace, "please go")
    assert '"skill_injected"' not in (workspace / "runs/one/events.jsonl").read_text()
    assert invoke("skills", "trust", str(workspace)).code == 0
    invoke("run", "--config", "kgent.yaml", "--prompt", "please go", "--sandbox", "runs/two")
    assert '"skill_injected"' in (workspace / "runs/two/events.jsonl").read_text()


@pytest.mark.parametrize("entry", ["Bash (git status:*)", "Bash()", "Bash( )"])
def test_an_entry_is_not_wider_than_it_reads(entry: str) -> None:
    assert not runs(entry, "touch x")


def test_a_pattern_with_a_dot_means_only_that_file() -> None:
    assert not passes("Write(./notes.md)", "file_write", files=(FileTouch(path="deep/notes.md", touch="create"),))


def test_a_rule_that_asks_wins_over_a_skill(workspace: Path, home: Path) -> None:
    text = skill_text("releaser", extra="allowed-tools: Bash(touch:*)\n")
    make_skill(home / ".agents/skills", "releaser", text=text)
    rules = home / ".config/skills_runtime/rules.yaml"
    rules.parent.mkdir(parents=True)
    rules.write_text("rules:\n  - {name: see, effect: ask, command: touch}\n")
    run_in(workspace, "Go", activates("releaser"), SHELL, say("Done."), **ASK)
    assert not list(workspace.rglob("made"))


def forking(parent: list[Any], child: list[Any], seen: list[Any]) -> Streaming:
    def stream(request: Any) -> Any:
        seen.append(request)
        script = parent if any(item.get("content") == "Go." for item in request.messages) else child
        return ScriptedBackend(script).stream_chat(request)

    return Streaming(stream)


def test_a_forked_skill_is_confined_where_skills_confine(tmp_path: Path) -> None:
    put(tmp_path, "forked", extra="context: fork\nallowed-tools: Read\n")
    child = [calls(("file_write", {"path": "x.txt", "content": "y"})), says("child done")]
    parent = [calls(("activate_skill", {"name": "forked"})), says("done")]
    sdk(tmp_path, forking(parent, child, []), safety={"mode": "allow", "skill_tools": "enforce"})
    assert not list(tmp_path.rglob("x.txt"))


def test_a_forked_skill_knows_its_files(tmp_path: Path) -> None:
    directory = put(tmp_path, "forked", "Read guide.md.\n", extra="context: fork\n")
    (directory / "guide.md").write_text("x")
    seen: list[Any] = []
    parent = [calls(("activate_skill", {"name": "forked", "arguments": "the sea"})), says("done")]
    sdk(tmp_path, forking(parent, [says("c")], seen))
    assert str(directory) in str(seen[1].messages)
    assert "the sea" in str(seen[1].messages)


def test_what_confines_a_run_cannot_be_left_by_a_fork(tmp_path: Path) -> None:
    put(tmp_path, "narrow", extra="allowed-tools: Read\n")
    put(tmp_path, "forked", extra="context: fork\n")
    steps = [("activate_skill", {"name": "narrow"}), ("activate_skill", {"name": "forked"})]
    model = FakeModel([*(calls(item) for item in steps), says("done")])
    result = sdk(tmp_path, model, safety={"mode": "allow", "skill_tools": "enforce"})
    assert payloads_of(result.wal_locator, "child_run_started") == []


@pytest.mark.parametrize("generations", [1, 2])
def test_what_confines_a_run_cannot_be_left_by_going_another_way_from_it(tmp_path: Path, generations: int) -> None:
    put(tmp_path, "narrow", extra="allowed-tools: Read\n")
    writing = calls(("file_write", {"path": "x.txt", "content": "y"}))
    model = FakeModel([calls(("activate_skill", {"name": "narrow"})), writing, says("done")])
    settings = {"skills": SKILLS, "safety": {"mode": "allow", "skill_tools": "enforce"}}
    agent = agent_in(tmp_path, model, settings=settings)
    path = Path(agent.run("Go.").wal_locator).parent
    at = next(item.seq for item in events_of(f"{path}/events.jsonl") if item.type == "tool_call_finished")
    for _ in range(generations):
        fork = agent.fork(path, at)
        path, at = fork.paths.root, fork.state.last_seq
        fork.close()
    asyncio.run(agent.execute(agent.resume(path)))
    (told,) = payloads_of(f"{path}/events.jsonl", "tool_call_finished")
    assert told.result["error_kind"] == "permission"
    assert not list(tmp_path.rglob("x.txt"))


def test_files_of_a_skill_for_people_only_can_be_read_while_it_is_active(tmp_path: Path) -> None:
    directory = put(tmp_path, "private", extra="disable-model-invocation: true\n")
    (directory / "g.md").write_text("GUIDE")
    reading = calls(("read_skill_file", {"name": "private", "path": "g.md"}))
    named = FakeModel([reading, says("done")])
    sdk(tmp_path, named, "/private go")
    assert "GUIDE" in last(named, 1)
    unnamed = FakeModel([reading, says("done")])
    sdk(tmp_path, unnamed)
    assert "GUIDE" not in last(unnamed, 1)


def test_the_search_tool_is_there_when_the_list_names_it(tmp_path: Path) -> None:
    for number in range(20):
        put(tmp_path, f"skill-{number:02}", description="Does a long thing. " * 20)
    model = FakeModel([says("done")])
    sdk(tmp_path, model, skills={"catalog": {"max_tokens": 120}})
    system = str(model.requests[0].messages[0]["content"])
    assert ("search_skills" in system) == ("search_skills" in [tool["name"] for tool in model.requests[0].tools])


def needy(path: Path) -> None:
    directory = put(path, "needy")
    (directory / "agents").mkdir()
    (directory / "agents/openai.yaml").write_text("dependencies: {tools: [{type: env_var, value: A_KEY}]}\n")


def test_a_variable_is_asked_for_when_a_model_activates_a_skill_and_never_written_down(tmp_path: Path) -> None:
    needy(tmp_path)
    human = Person("the-value-of-the-key")
    result = sdk(tmp_path, FakeModel([calls(("activate_skill", {"name": "needy"})), says("x")]), human=human)
    assert human.asked
    assert payloads_of(result.wal_locator, "env_var_set")
    assert "the-value-of-the-key" not in Path(result.wal_locator).read_text()


@pytest.mark.parametrize("policy", ["ask_human", "skip_skill", "fail_fast"])
def test_a_skill_without_its_variable_is_reported_and_left_out(tmp_path: Path, policy: str) -> None:
    needy(tmp_path)
    model = FakeModel([calls(("activate_skill", {"name": "needy"})), says("x")])
    result = sdk(tmp_path, model, skills={"env_var_missing_policy": policy})
    assert "A_KEY" in last(model, 1)
    (skipped,) = payloads_of(result.wal_locator, "skill_injection_skipped")
    assert skipped.missing_env_vars == ["A_KEY"]


def test_a_broken_lock_file_takes_permissions_away_and_not_the_skill(workspace: Path) -> None:
    text = skill_text("releaser", extra="allowed-tools: Bash\n")
    make_skill(workspace / ".agents/skills", "releaser", text=text)
    (workspace / "skills-lock.json").write_text("{")
    invoke("skills", "trust")
    assert run_in(workspace, "/releaser x").code == 0
    log = (workspace / "runs/one/events.jsonl").read_text()
    assert '"skill_injected"' in log
    assert '"preapproves":true' not in log


def test_one_closed_directory_does_not_hide_the_other_files(unprivileged: Unprivileged) -> None:
    def found() -> Any:
        directory = unprivileged.path / "s"
        (directory / "scripts").mkdir(parents=True)
        (directory / "scripts/a.py").write_text("x")
        (directory / "closed").mkdir(mode=0)
        file = str(directory / "SKILL.md")
        return list_skill_files(
            Skill(namespace="aa", name="bb", description="d", locator="x", space_id="s", source_id="s", file=file)
        ).names

    assert unprivileged(found) == ("scripts/a.py",)


def test_a_skill_that_is_too_large_does_not_push_out_a_small_one() -> None:
    talk = Conversation()
    for name, size in (("small", 100), ("large", 9000)):
        event = SkillInjected(skill_name=name, mention_text=name, text_blob="0" * 64, size=size, digest=name)
        talk.apply(event_of(event))
    assert talk.find_skills_over_limit(500) == ["large"]


def test_missing_arguments_are_empty_and_prices_stay() -> None:
    assert fill_arguments("About $ARGUMENTS for $5.", "") == "About  for $5."
    assert fill_arguments("awk '{print $3}' costs $5, $1", "one") == "awk '{print $3}' costs $5, one"
