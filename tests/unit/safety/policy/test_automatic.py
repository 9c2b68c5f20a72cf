"""Mode `auto`: the built-in rules, what beats them, and what they never cover."""

from typing import Any

import msgspec
import pytest

from skills_runtime.ports import FileTouch, Intent, ToolSpec
from skills_runtime.safety.guard import Facts, assess
from skills_runtime.safety.policy import Allow, Ask, Deny, PolicyDecision, Rule, Rules, decide, explain
from skills_runtime.tools import builtin_tools

SPECS = {tool.spec.name: tool.spec for tool in builtin_tools()}
ROOT, HOME = "/home/me/app", "/home/me"


def rules(*more: Rule, **settings: Any) -> Rules:
    return msgspec.structs.replace(Rules(mode="auto", sandboxed=True, root=ROOT, home=HOME, rules=more), **settings)


def line(text: str, **intent: Any) -> Facts:
    return assess(SPECS["shell_command"], Intent(line=text, **intent))


def files(*paths: str, touch: Any = "overwrite") -> Facts:
    touches = tuple(FileTouch(path=path, touch=touch) for path in paths)
    return assess(SPECS["apply_patch"], Intent(files=touches))


def decided(facts: Facts, *more: Rule, **settings: Any) -> PolicyDecision:
    return decide(facts, rules(*more, **settings))


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        (line("git status"), "built in: well-known reading command"),
        (line("make"), "built in: runs in the sandbox"),
        (line("cd src && make"), "built in: well-known reading command + built in: runs in the sandbox"),
        (line("make > log.txt"), "built in: runs in the sandbox + built in: writes the workspace"),
        (line("$PROGRAM src"), "built in: runs in the sandbox"),
        (line("mkdir x > $OUT"), "built in: runs in the sandbox + built in: writes the workspace"),
        (files("src/a.py"), "built in: writes the workspace"),
        (files(f"{ROOT}/src/a.py"), "built in: writes the workspace"),
        (files("deliverables/a.md", touch="create"), "built in: writes the workspace"),
        (files("a.txt", touch="delete"), "built in: writes the workspace"),
        (assess(SPECS["update_plan"], None), "built in: tool of the runtime"),
        (assess(SPECS["spawn_agent"], None), "built in: tool of the runtime"),
        (assess(SPECS["list_dir"], None), "built in: reads the workspace"),
    ],
)
def test_what_passes_names_its_built_in_rules(facts: Facts, names: str) -> None:
    assert decided(facts) == Allow(names)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (line("make && git push"), "`git push` uses the network"),
        (line("python -m twine upload dist/*"), "`python -m twine upload dist/*` uses the network"),
        (line("npm --prefix web publish"), "`npm --prefix web publish` uses the network"),
        (line("cat ../x"), "`cat ../x` names a path outside the workspace"),
        (line("cd .. && ls"), "`cd ..` names a path outside the workspace"),
        (line("cat /tmp/../home/me/x"), "`cat /tmp/../home/me/x` names a path outside the workspace"),
        (line("make > ../log"), "`../log` writes outside the workspace"),
        (line("make > .windsurf/x"), "`.windsurf/x` changes a protected file"),
        (line("rm -r build"), "`rm -r build` deletes more than single files"),
        (line("mv src /tmp/x"), "`mv src /tmp/x` moves files to a place that ends with the sandbox"),
        (line("git restore a.py"), "`git restore a.py` throws away changes"),
        (line("git checkout main a.py"), "`git checkout main a.py` throws away changes"),
        (line("git commit --amend"), "`git commit --amend` rewrites history"),
        (line("git stash clear"), "`git stash clear` deletes branches, tags or stashed changes"),
        (files("a.py", "../b.py"), "`../b.py` reaches a path outside the workspace"),
        (files(".windsurf/rules.md"), "`.windsurf/rules.md` changes a protected file"),
    ],
)
def test_what_leaves_the_sandbox_or_cannot_be_undone_asks_and_says_why(facts: Facts, reason: str) -> None:
    assert decided(facts) == Ask("safety.mode: auto", reason)


@pytest.mark.parametrize(
    "text",
    [
        'git commit -m "see ../docs and ~/x"',
        "grep -rn /api/v1 src",
        "sed 's|/usr/bin|/usr/local/bin|' a.txt",
        "cat /etc/os-release",
        "git checkout -b topic origin/main",
        "git restore --staged a.py",
        "git rebase --continue",
        "rm a.txt b.txt",
        "cp a.txt /tmp/a.txt",
        "pip --version",
        "cargo +nightly test",
    ],
)
def test_what_only_looks_like_it_passes(text: str) -> None:
    assert isinstance(decided(line(text)), Allow)


def test_an_isolated_run_reaches_its_deliverables() -> None:
    facts = line("tee ../deliverables/a.md < notes.md")
    assert isinstance(decided(facts), Ask)
    assert isinstance(decided(facts, outputs=("../deliverables",)), Allow)
    assert isinstance(decided(line("tee ../deliverables/../x < a"), outputs=("../deliverables",)), Ask)


def test_without_an_active_sandbox_it_decides_like_ask() -> None:
    for facts in (line("ls"), files("a.txt"), assess(SPECS["update_plan"], None)):
        decision = decided(facts, sandboxed=False)
        assert isinstance(decision, Ask)
        assert decision.justification == "no sandbox is active here, so mode `auto` decides like `ask`"


def test_rules_of_the_user_come_first() -> None:
    deny = Rule(effect="deny", name="no make", command=(("make",),))
    ask = Rule(effect="ask", name="ask make", command=(("make",),))
    allow = Rule(effect="allow", name="fetch", command=(("curl",),))
    assert decided(line("make"), deny) == Deny("rule `no make`")
    assert decided(line("make"), ask) == Ask("rule `ask make`")
    assert decided(line("make"), denylist=("make",)) == Deny("safety.denylist: make")
    both = decided(line("curl example.com | tee a.txt"), allow)
    assert both == Allow("rule `fetch` + built in: runs in the sandbox")


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_what_is_not_understood_asks_where_a_rule_could_be_about_it(effect: Any) -> None:
    rule = Rule(effect=effect, name="r", command=(("deploy",),))
    facts = line("python3 -c 'print(1)'")
    assert facts.unclear
    assert isinstance(decided(facts), Allow)
    assert isinstance(decided(facts, rule), Ask)
    assert isinstance(decided(facts, denylist=("deploy",)), Ask)
    assert isinstance(decided(facts, Rule(effect=effect, name="r", tool=("web_search",))), Allow)


def test_escalation_and_high_risk_ask() -> None:
    assert isinstance(decided(line("ls", escalated=True)), Ask)
    assert isinstance(decided(line("rm -rf .")), Ask)
    assert isinstance(decided(line("ls", environment={"LD_PRELOAD": "x"})), Ask)


def test_a_tool_that_the_runtime_does_not_contain_asks() -> None:
    spec = ToolSpec(name="shell_command", description="", parameters={})
    decision = decided(assess(spec, Intent(line="ls")))
    assert decision == Ask("safety.mode: auto", "the tool does not run in the sandbox")


def test_a_program_of_a_skill_asks_until_a_rule_allows_it() -> None:
    spec = ToolSpec(name="skill_exec", description="", parameters={}, contained=True)
    facts = assess(spec, Intent(argv=("python3", "run.py"), skill="web.writer"))
    assert decided(facts) == Ask(
        "safety.mode: auto", "`python3 run.py` is a program of a skill that has not been approved"
    )
    assert isinstance(decided(facts, Rule(effect="allow", name="s", skill=("web.writer",))), Allow)


DIGEST = "ab" * 32
SKILL_SPEC = ToolSpec(name="skill_exec", description="", parameters={}, contained=True)


@pytest.mark.parametrize("mode", ["auto", "ask"])
@pytest.mark.parametrize(
    ("digest", "sandboxed", "passes"),
    [(DIGEST, True, True), ("cd" * 32, True, False), ("", True, False), (DIGEST, False, False)],
)
def test_a_rule_with_a_digest_allows_that_content_in_the_sandbox(
    mode: str, digest: str, *, sandboxed: bool, passes: bool
) -> None:
    intent = Intent(argv=("python3", "run.py"), environment={"A": "b"}, skill="web.writer", skill_digest=digest)
    rule = Rule(effect="allow", name="s", skill=("web.writer",), digest=(DIGEST,))
    decision = decided(assess(SKILL_SPEC, intent), rule, mode=mode, sandboxed=sandboxed)
    assert isinstance(decision, Allow if passes else Ask)


def test_the_program_of_a_built_in_skill_passes_by_a_named_rule_unless_it_wants_more() -> None:
    intent = Intent(argv=("python3", "/opt/x/run.py"), skill="web:mvp.a", is_built_in=True)
    assert decided(assess(SKILL_SPEC, intent)) == Allow("built in: program of a built-in skill")
    assert isinstance(decided(assess(SKILL_SPEC, intent), sandboxed=False), Ask)
    wider = msgspec.structs.replace(intent, escalated=True)
    assert decided(assess(SKILL_SPEC, wider)) == Ask(
        "built in: more than the sandbox allows", "the call asks for more than the sandbox allows"
    )


TERMINAL = {"active": True, "requested": "inherit"}


@pytest.mark.parametrize(
    ("typed", "fence", "passes"),
    [
        ("ls\n", TERMINAL, True),
        ("git push\n", TERMINAL, False),
        ("ls\n", {"active": False, "requested": "require_escalated"}, False),
        ("ls\n", {**TERMINAL, "granted": {"hosts": ["example.com:443"]}}, False),
        ("\x03", {"active": False}, False),
        ("", {"active": False}, True),
    ],
)
def test_typing_passes_only_in_a_terminal_with_no_more_rights_than_the_sandbox(
    typed: str, fence: dict[str, Any], passes: bool
) -> None:
    facts = assess(SPECS["write_stdin"], Intent(typed=typed, fence=fence))
    assert isinstance(decided(facts), Allow) is passes


@pytest.mark.parametrize("mode", ["auto", "ask", "allow"])
def test_a_function_of_the_program_passes_and_asks_where_it_or_a_rule_says_so(mode: Any) -> None:
    own = Facts(tool="weather", approval="pass")
    asking = Facts(tool="weather", approval="ask", effect="read")
    assert decided(own, mode=mode) == Allow("built in: function of this program")
    assert isinstance(decided(asking, mode=mode), Ask)
    assert isinstance(decided(asking, mode=mode, tool_allowlist=("weather",)), Allow)
    assert isinstance(decided(own, Rule(effect="ask", name="r", tool=("weather",)), mode=mode), Ask)
    assert isinstance(decided(own, Rule(effect="deny", name="r", tool=("weather",)), mode=mode), Deny)


def test_mode_deny_refuses_functions_of_the_program() -> None:
    assert decided(Facts(tool="weather", approval="pass"), mode="deny") == Deny("safety.mode: deny")


def test_every_part_is_explained_with_its_rule_or_its_objection() -> None:
    parts = explain(line("make && git push > log"), rules()).parts
    assert [(part.text, part.allowed_by, part.objection) for part in parts] == [
        ("make", "built in: runs in the sandbox", ""),
        ("git push", "", "uses the network"),
        ("log", "built in: writes the workspace", ""),
    ]


def test_all_built_in_tools_that_do_more_than_read_are_contained() -> None:
    assert [name for name, spec in SPECS.items() if spec.effect != "read" and not spec.contained] == []
