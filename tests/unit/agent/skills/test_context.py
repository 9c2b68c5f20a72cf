"""Skills that a model activates: what it is told then, what they permit, and how they end."""

import json
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent import Agent, ChildProfile
from skills_runtime.agent.skills.permissions import is_installed, parse_rules
from skills_runtime.events import Event
from skills_runtime.events.payloads import ContextCompacted, RunStarted, SkillInjected, SkillUnloaded
from skills_runtime.projections import Conversation
from skills_runtime.safety.policy import load_rules, render_rule
from skills_runtime.skills.activation import fill_arguments
from skills_runtime.skills.install import consented
from skills_runtime.skills.skill import Skill
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Answering, Streaming, agent_in, calls, payloads_of
from tests.support.users import outside

SKILLS = {
    "spaces": [{"id": "s", "namespace": "web:mvp", "sources": ["f"]}],
    "sources": [{"id": "f", "type": "filesystem", "options": {"root": "skills"}}],
    "discovery": {"enabled": False},
}
HEAD = "---\nname: {name}\ndescription: {description}\n{more}---\n{body}\n"


def make(parent: Path, name: str, body: str, *, description: str = "Writes.", more: str = "") -> Path:
    directory = parent / "skills" / name
    (directory / "scripts").mkdir(parents=True)
    text = HEAD.format(name=name, description=description, more=more, body=body)
    (directory / "SKILL.md").write_text(text)
    (directory / "scripts" / "count.py").write_text("print(1)\n")
    return directory


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    make(tmp_path, "writer", "Briefly, about $ARGUMENTS.")
    return tmp_path


def run(directory: Path, model: FakeModel, task: str = "Write it.", **settings: Any) -> Any:
    return agent_in(directory, model, settings={"skills": SKILLS, **settings}).run(task)


def users(model: FakeModel, request: int) -> list[str]:
    return [str(message["content"]) for message in model.requests[request].messages if message["role"] == "user"]


def test_a_model_is_offered_the_names_of_the_skills(directory: Path) -> None:
    make(directory, "editor", "Edit.")
    model = FakeModel([says("done")])
    run(directory, model)
    (tool,) = [request for request in model.requests[0].tools if request["name"] == "activate_skill"]
    assert tool["parameters"]["properties"]["name"]["enum"] == ["editor", "writer"]


def test_an_activated_skill_follows_with_its_arguments_files_and_digest(directory: Path) -> None:
    model = FakeModel([calls(("activate_skill", {"name": "writer", "arguments": "the sea"})), says("done")])
    result = run(directory, model)
    text = users(model, 1)[-1]
    assert "Briefly, about the sea." in text
    assert "`scripts/count.py`" in text
    assert str(directory / "skills" / "writer") in text
    (event,) = payloads_of(result.wal_locator, "skill_injected")
    assert (event.source, event.arguments, event.mention_text) == ("tool", "the sea", "$[web:mvp].writer")
    assert event.digest


def test_a_skill_that_is_active_is_not_reported_twice(directory: Path) -> None:
    again = calls(("activate_skill", {"name": "writer"}))
    model = FakeModel([again, again, says("done")])
    result = run(directory, model)
    assert len(payloads_of(result.wal_locator, "skill_injected")) == 1
    assert "already active" in str(model.requests[2].messages[-1]["content"])


def test_other_arguments_are_another_activation(directory: Path) -> None:
    first, second = (
        calls(("activate_skill", {"name": "writer", "arguments": argument})) for argument in ("sea", "land")
    )
    model = FakeModel([first, second, says("done")])
    result = run(directory, model)
    assert [payload.arguments for payload in payloads_of(result.wal_locator, "skill_injected")] == ["sea", "land"]


def test_a_changed_skill_is_reported_anew(directory: Path) -> None:
    call = calls(("activate_skill", {"name": "writer"}))

    class Changing(FakeModel):
        def stream_chat(self, request: Any) -> Any:
            if len(self.requests) == 1:
                path = directory / "skills" / "writer" / "SKILL.md"
                path.write_text(HEAD.format(name="writer", description="Writes.", more="", body="At length."))
            return super().stream_chat(request)

    model = Changing([call, call, says("done")])
    result = run(directory, model)
    assert len({payload.digest for payload in payloads_of(result.wal_locator, "skill_injected")}) == 2
    assert "At length." in users(model, 2)[-1]


def test_an_unknown_skill_is_refused_with_the_nearest_name(directory: Path) -> None:
    model = FakeModel([calls(("activate_skill", {"name": "writter"})), says("done")])
    run(directory, model)
    assert "did you mean `writer`" in str(model.requests[1].messages[-1]["content"])


def test_a_skill_for_people_only_cannot_be_activated_by_a_model(directory: Path) -> None:
    make(directory, "secret", "Hush.", more="disable-model-invocation: true\n")
    model = FakeModel([calls(("activate_skill", {"name": "secret"})), says("done")])
    run(directory, model)
    assert "no skill `secret`" in str(model.requests[1].messages[-1]["content"])


def test_text_after_a_slash_command_is_its_arguments(directory: Path) -> None:
    model = FakeModel([says("done")])
    run(directory, model, "/writer the sea")
    assert "Briefly, about the sea." in users(model, 0)[0]


def test_a_mention_that_leads_nowhere_is_reported(directory: Path) -> None:
    result = run(directory, FakeModel([says("done")]), "Use $no-such-skill for this.")
    (skipped,) = payloads_of(result.wal_locator, "skill_injection_skipped")
    assert "no-such-skill" in skipped.reason


def test_a_declared_trigger_puts_its_skill_into_the_prompt(directory: Path) -> None:
    make(directory, "tides", "Look at the moon.", more="triggers: [spring tide]\n")
    model = FakeModel([says("done")])
    result = run(directory, model, "When is the next spring tide?")
    assert "Look at the moon." in users(model, 0)[0]
    (routed,) = payloads_of(result.wal_locator, "skill_routed")
    assert routed.decided_by == "trigger"


def test_the_list_of_skills_is_recorded(directory: Path) -> None:
    result = run(directory, FakeModel([says("done")]))
    (offered,) = payloads_of(result.wal_locator, "skill_catalog_offered")
    assert (offered.level, offered.offered) == ("full", 1)


SHELL = ("shell_command", {"command": "git status"})
OPEN = {"sandbox": {"default_policy": "none"}}


def asked_about(result: Any) -> list[str]:
    return [payload.tool for payload in payloads_of(result.wal_locator, "approval_requested")]


def approving(directory: Path, model: FakeModel, **safety: Any) -> Any:
    mode = safety.pop("mode", "ask")
    settings = {"skills": SKILLS, "safety": safety, **OPEN}
    agent = agent_in(directory, model, settings=settings, mode=mode, approver=Answering("approved", "approved"))
    return agent.run("Write it.")


def test_a_trusted_skill_that_is_active_has_its_tools_pass_without_approval(directory: Path) -> None:
    make(directory, "releaser", "Release.", more="allowed-tools: Bash(git status:*)\n")
    before = approving(directory, FakeModel([calls(SHELL), says("done")]))
    assert asked_about(before) == ["shell_command"]
    model = FakeModel([calls(("activate_skill", {"name": "releaser"})), calls(SHELL), says("done")])
    assert asked_about(approving(directory, model)) == []


def test_what_a_skill_permits_ends_when_it_is_unloaded(directory: Path) -> None:
    make(directory, "releaser", "Release.", more="allowed-tools: Bash(git status:*)\n")
    steps = [("activate_skill", {"name": "releaser"}), ("unload_skill", {"name": "releaser"}), SHELL]
    result = approving(directory, FakeModel([*(calls(step) for step in steps), says("done")]))
    assert asked_about(result) == ["shell_command"]


def test_other_commands_still_need_approval(directory: Path) -> None:
    make(directory, "releaser", "Release.", more="allowed-tools: Bash(git status:*)\n")
    other = ("shell_command", {"command": "git push"})
    model = FakeModel([calls(("activate_skill", {"name": "releaser"})), calls(other), says("done")])
    assert asked_about(approving(directory, model)) == ["shell_command"]


def test_a_rule_that_denies_wins_over_a_skill(directory: Path) -> None:
    make(directory, "releaser", "Release.", more="allowed-tools: Bash(git status:*)\n")
    model = FakeModel([calls(("activate_skill", {"name": "releaser"})), calls(SHELL), says("done")])
    approving(directory, model, denylist=["git status"])
    assert "denied" in str(model.requests[2].messages[-1]["content"])


def test_under_enforce_nothing_else_runs_while_a_skill_is_active(directory: Path) -> None:
    make(directory, "reader", "Read.", more="allowed-tools: Read\n")
    reading, listing = ("file_read", {"path": "skills/reader/SKILL.md"}), ("list_dir", {"dir_path": "."})
    steps = [("activate_skill", {"name": "reader"}), reading, listing, ("unload_skill", {"name": "reader"}), listing]
    model = FakeModel([*(calls(step) for step in steps), says("done")])
    approving(directory, model, skill_tools="enforce", mode="allow")
    results = [str(model.requests[number].messages[-1]["content"]) for number in (2, 3, 5)]
    assert '"ok":true' in results[0]
    assert "does not list it" in results[1]
    assert '"ok":true' in results[2]


def test_under_ignore_a_skill_permits_nothing(directory: Path) -> None:
    make(directory, "releaser", "Release.", more="allowed-tools: Bash(git status:*)\n")
    model = FakeModel([calls(("activate_skill", {"name": "releaser"})), calls(SHELL), says("done")])
    assert asked_about(approving(directory, model, skill_tools="ignore")) == ["shell_command"]


def test_a_skill_with_a_context_of_its_own_is_worked_on_by_another_run(directory: Path) -> None:
    make(directory, "research", "Look around.", more="context: fork\n")
    parent = FakeModel([calls(("activate_skill", {"name": "research"})), says("done")])
    child = FakeModel([says("found it")])

    def answer(request: Any) -> Any:
        of_parent = request.messages[1]["content"] == "Find out."
        return (parent if of_parent else child).stream_chat(request)

    result = agent_in(directory, Streaming(answer), settings={"skills": SKILLS}).run("Find out.")
    assert "found it" in str(parent.requests[1].messages[-1]["content"])
    assert "Look around." in str(child.requests[0].messages)
    (event,) = payloads_of(result.wal_locator, "skill_injected")
    assert (event.render, event.text_blob) == ("fork", None)
    assert payloads_of(result.wal_locator, "child_run_started")


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("Read", [("file_read", "read_file", "view_image")]),
        ("Read, Grep", [("file_read", "read_file", "view_image"), ("grep_files",)]),
        (["Bash(git add:*)", "own_tool"], [("shell_exec", "shell", "shell_command", "exec_command"), ("own_tool",)]),
        ("Bash(rm * -rf)", []),
        ("Bash(", []),
        ("", []),
    ],
)
def test_names_that_other_programs_give_to_tools_are_understood(declared: Any, expected: list[Any]) -> None:
    assert [rule.tool for rule in parse_rules(skill_that_lists(declared))] == expected


def test_every_permit_can_be_read_back_as_a_rule() -> None:
    declared = "Read(docs/**) Write Bash(git commit:*) Bash(make test) Bash WebSearch"
    rules = parse_rules(skill_that_lists(declared))
    read = [parsed for rule in rules for parsed in load_rules(f"rules:\n{render_rule(rule)}", origin="log")]
    assert [(rule.tool, rule.command, rule.path) for rule in read] == [
        (rule.tool, rule.command, rule.path) for rule in rules
    ]
    assert len(read) == 6


def skill_that_lists(declared: Any) -> Skill:
    return Skill(
        namespace="web:mvp",
        name="releaser",
        description="Releases.",
        locator="here",
        space_id="s",
        source_id="f",
        metadata={"allowed-tools": declared},
    )


def test_skills_without_room_go_when_the_conversation_is_summarized_and_the_newest_stay() -> None:
    talk = Conversation()
    for name in ("a", "b", "c"):
        talk.apply(
            event_of(SkillInjected(skill_name=name, mention_text=name, text_blob="0" * 64, size=100, digest=name))
        )
    assert talk.find_skills_over_limit(250) == ["a"]
    assert talk.find_skills_over_limit(300) == []
    assert talk.find_skills_over_limit(0) == ["a", "b", "c"]


def test_an_unloaded_skill_is_gone_after_the_next_summary_and_the_others_stay() -> None:
    talk = Conversation()
    for name in ("a", "b"):
        talk.apply(event_of(SkillInjected(skill_name=name, mention_text=name, text_blob="0" * 64, size=100)))
    talk.apply(event_of(RunStarted(task="go")))
    talk.apply(event_of(SkillUnloaded(mention_text="a")))
    talk.apply(event_of(ContextCompacted(summary="so far", kept_messages=0, skills_left_out=["a"])))
    assert [message.skill for message in talk.messages if message.skill] == ["b"]
    assert list(talk.skills) == ["b"]
    assert "- a" in talk.messages[-1].text


def event_of(payload: Any) -> Event:
    return Event(seq=0, type=payload.event_type, timestamp="", run_id="r", turn_id=None, step_id=None, payload=payload)


@pytest.mark.parametrize(
    ("body", "arguments", "names", "expected"),
    [
        ("About $ARGUMENTS.", "the sea", (), "About the sea."),
        ("$1 and $2", "a 'b c'", (), "a and b c"),
        ("$ARGUMENTS[0]/$ARGUMENTS[1]", "a b", (), "a/b"),
        ("Dear $who,", "Ann", ("who",), "Dear Ann,"),
        ("Costs $5 and $HOME", "", (), "Costs $5 and $HOME"),
        ("$1", "$ARGUMENTS", (), "$ARGUMENTS"),
        ("It's $1", "don't", (), "It's don't"),
        ("No place.", "x", (), "No place.\n\nArguments: x\n"),
        ("$other stays", "x", ("who",), "$other stays\n\nArguments: x\n"),
    ],
)
def test_arguments_go_where_the_text_asks_for_them(
    body: str, arguments: str, names: tuple[str, ...], expected: str
) -> None:
    assert fill_arguments(body, arguments, names) == expected


def test_a_sub_agent_has_no_skills_but_those_of_its_kind(directory: Path) -> None:
    make(directory, "editor", "Edit.")
    parent = FakeModel([calls(("spawn_agent", {"message": "help", "agent_type": "scribe"})), says("done")])
    child = FakeModel([says("found it")])

    def answer(request: Any) -> Any:
        return (parent if request.messages[1]["content"] == "Go." else child).stream_chat(request)

    profile = ChildProfile(skills=frozenset({"writer"}))
    agent = Agent(
        workspace_root=directory,
        backend=Streaming(answer),
        session_settings={"safety": {"mode": "allow"}, "skills": SKILLS},
        child_profile_map={"scribe": profile},
    )
    agent.run("Go.")
    (tool,) = [spec for spec in child.requests[0].tools if spec["name"] == "activate_skill"]
    assert tool["parameters"]["properties"]["name"]["enum"] == ["writer"]


def test_a_changed_installed_skill_permits_nothing_until_it_is_approved_again(tmp_path: Path) -> None:
    directory = tmp_path / ".agents" / "skills" / "writer"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: writer\ndescription: Writes.\nallowed-tools: Bash\n---\nx\n")
    assert not is_installed(directory)
    entry = {"source": "a/b", "sourceType": "github", "computedHash": "0" * 64}
    (tmp_path / "skills-lock.json").write_text(json.dumps({"version": 1, "skills": {"writer": entry}}))
    assert is_installed(directory)
    assert not consented(directory)


def test_files_of_a_skill_are_read_without_asking_and_nothing_beside_them(directory: Path) -> None:
    make(directory, "releaser", "Release.")
    (directory / "skills" / "releaser" / "guide.md").write_text("step one\n")
    (directory / "skills" / "releaser" / ".env").write_text("KEY=1\n")
    (directory / "skills" / "releaser" / "link").symlink_to("/etc/passwd")
    paths = ["guide.md", "scripts/count.py", "../writer/SKILL.md", "/etc/passwd", ".env", "link", "none.md"]
    call = calls(*(("read_skill_file", {"name": "releaser", "path": path}) for path in paths))
    model = FakeModel([call, says("done")])
    result = approving(directory, model)
    results = [str(message["content"]) for message in model.requests[1].messages if message["role"] == "tool"]
    assert ["step one" in results[0], "print(1)" in results[1]] == [True, True]
    assert all('"ok":false' in text for text in results[2:])
    assert asked_about(result) == []


def test_commands_may_read_the_directory_of_an_active_skill_and_no_other(tmp_path: Path) -> None:
    with outside() as path:
        for skill in ("one", "two"):
            make(path, skill, "Do it.")
        skills = {
            **SKILLS,
            "sources": [{"id": "f", "type": "filesystem", "options": {"root": str(path / "skills")}}],
        }
        reading = [
            ("shell_command", {"command": f"cat {path}/skills/{name}/scripts/count.py"}) for name in ("one", "two")
        ]
        steps = [("activate_skill", {"name": "one"}), *reading]
        model = FakeModel([*(calls(step) for step in steps), says("done")])
        agent_in(tmp_path, model, settings={"skills": skills}).run("Go.")
        first, second = (str(model.requests[number].messages[-1]["content"]) for number in (2, 3))
    assert "print(1)" in first
    assert "print(1)" not in second
