"""The runtime's own state is out of every tool's reach, whatever the rules allow."""

from typing import Any

import pytest

from skills_runtime.safety.guard import Facts, SimpleCommand
from skills_runtime.safety.policy import Deny, Rule
from tests.unit.safety.policy.calls import kind, shell, touching, verdict

PLACE: dict[str, Any] = {
    "root": "/home/user/ws",
    "home": "/home/user",
    "control": ("/home/user/.config/skills_runtime", "/srv/keys", "/home/user/ws/mine/rules.yaml"),
}
EVERYTHING = Rule(name="all", effect="allow", tool=("*",), risk="high")


@pytest.mark.parametrize(
    "path",
    [
        ".skills_runtime_sdk",
        ".skills_runtime_sdk/runs/r/events.jsonl",
        "a/b/.skills_runtime_sdk/x",
        ".Skills_Runtime_SDK/x",
        ".skills_run\u200btime_sdk/x",
        "/home/user/.local/state/skills_runtime/ledger.db",
        "/x/skills_runtime/keys/log.key",
        "~/.local/state/skills_runtime//keys/log.key",
        "~/.config/skills_runtime/rules.yaml",
        "../.config/skills_runtime/config.yaml",
        "skills_runtime/rules.yaml",
        "/srv/keys/log.key",
        "/srv/x/../keys/log.key",
        "mine/rules.yaml",
        "x/../mine/rules.yaml",
        "/var/skills_runtime/x/../keys/log.key",
    ],
)
def test_no_tool_touches_the_runtimes_own_state(path: str) -> None:
    reading = touching(path, tool="file_read", touch="read", effect="read")
    decision = verdict(reading, EVERYTHING, mode="allow", tool_allowlist=("file_read",), **PLACE)
    assert isinstance(decision, Deny)
    assert decision.rule == "built in: the runtime's own state"
    assert path in decision.justification
    assert kind(shell(f"cat {path}"), EVERYTHING, mode="allow", **PLACE) == "Deny"
    assert kind(shell("echo x", writes=(path,)), EVERYTHING, mode="allow", **PLACE) == "Deny"


@pytest.mark.parametrize(
    "text",
    [
        "dd if=.skills_runtime_sdk/x of=y",
        "python -c open('.skills_runtime_sdk/x')",
        "cat .skills_run*/x",
        "cat .skills_runtime_sd?/x",
        "curl -d @/srv/keys/log.key",
        "cat $XDG_STATE_HOME/skills_runtime/keys",
        "ls ${SKILLS_RUNTIME_SDK_KEYS_DIR}",
    ],
)
def test_no_command_names_it_in_any_of_its_words(text: str) -> None:
    assert kind(shell(text), EVERYTHING, mode="allow", **PLACE) == "Deny"


def test_a_word_that_is_only_known_as_it_is_written_counts_too() -> None:
    command = SimpleCommand(words=("cat", None), text='cat "$HOME/.skills_runtime_sdk/x"')
    assert kind(Facts(tool="shell_command", commands=(command,)), mode="allow") == "Deny"


@pytest.mark.parametrize(
    "path",
    ["src/skills_runtime/keys.py", "skills_runtime/config/files.py", "docs/skills_runtime.md", "keys/a", "srv/keys/a"],
)
def test_other_files_are_not_the_runtimes_state(path: str) -> None:
    assert kind(touching(path), mode="allow", **PLACE) == "Allow"
    assert kind(shell(f"cat {path}"), mode="allow", **PLACE) == "Allow"


@pytest.mark.parametrize("word", [".*", "s/.*//", "*", "**/*.py"])
def test_a_glob_with_nothing_of_our_name_is_not_taken_for_it(word: str) -> None:
    assert kind(shell(f"sed {word}"), mode="allow", **PLACE) == "Allow"


@pytest.mark.parametrize(
    "line",
    [
        "skills-runtime approvals approve r",
        "/opt/bin/kgent runs review approve r",
        "skills-runtime-sdk runs answer r x",
        "python -m skills_runtime.cli approvals deny r",
        "kgent $X",
    ],
)
def test_no_command_decides_in_a_persons_place(line: str) -> None:
    assert verdict(shell(line), EVERYTHING, mode="allow").rule == "built in: decisions of people"
    assert kind(shell(line), mode="allow") == "Deny"


@pytest.mark.parametrize("line", ["kgent run -p x", "sed -i x kgent.yaml", "cp x config/rules.yaml", "cat .env"])
def test_what_could_loosen_the_next_run_is_asked_about_even_where_all_is_allowed(line: str) -> None:
    decision = verdict(shell(line), EVERYTHING, mode="allow", **PLACE)
    assert decision.rule == "built in: configuration of the next run"
    assert kind(shell(line), mode="allow") == "Ask"


def test_a_change_of_directory_does_not_hide_the_configuration() -> None:
    assert kind(shell("cd config", "echo x", writes=("runtime.yaml",)), mode="allow", **PLACE) == "Ask"
    assert kind(shell("echo x", writes=("sub/runtime.yaml",)), mode="allow", **PLACE) == "Allow"


def test_configuration_may_be_read_and_not_changed_unasked() -> None:
    consent = ("/home/user/other.yaml",)
    for path in ("kgent.yaml", "./x/../kgent.yaml", "/home/user/ws/config/runtime.yaml", "../other.yaml"):
        reading = touching(path, tool="file_read", touch="read", effect="read")
        assert kind(reading, mode="allow", consent=consent, **PLACE) == "Allow"
        assert kind(touching(path, touch="change"), mode="allow", consent=consent, **PLACE) == "Ask"
    assert kind(touching("sub/kgent.yaml"), mode="allow", **PLACE) == "Allow"
