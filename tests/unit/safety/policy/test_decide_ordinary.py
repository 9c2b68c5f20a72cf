"""Commands that developers look around with are not asked about where their parts are not."""

import pytest

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Allow, Rules, decide, load_rules

SHELL = ToolSpec(name="shell_command", description="", parameters={}, contained=True)
LISTED = (
    "ls", "cat", "head", "tail", "wc", "grep", "rg", "find", "sort", "uniq", "cut", "tr", "diff", "stat", "file", "du",
    "tree", "jq", "sed", "awk", "which", "date", "xargs", "echo", "[", "git status", "git log", "git diff", "git show",
    "git branch", "git blame", "git ls-files", "git grep", "git rev-parse", "git remote", "git tag", "git stash list",
)  # fmt: skip
BY_NAME = Rules(allowlist=LISTED, root="/workspace", home="/home/user")
BY_RISK = Rules(
    rules=load_rules("rules: [{name: look around, effect: allow, tool: shell_command, risk: low}]", origin="test"),
    root="/workspace",
    home="/home/user",
)
BY_DEFAULT = Rules(mode="auto", sandboxed=True, root="/workspace", home="/home/user")
ORDINARY = r"""
ls
ls -la src
ls *.md
ls src/*.py tests/*.py
pwd
cd src && ls
cd src && ls -la && cd ..
cd src/pkg && git status
cat README.md
cat pyproject.toml | head -20
cat *.toml
cat src/a.py src/b.py
head -n 40 src/app.py
tail -n 20 CHANGELOG.md
wc -l src/*.py
wc -l $(git ls-files '*.py')
grep -rn "TODO" src
grep -n foo *.py
grep -rl import src | wc -l
grep -c def src/app.py || true
rg -n 'def main' src
rg --files | head
rg -l foo | sort
find . -name '*.py'
find src -type f -size +10k | sort | head -5
find . -name '*.py' | xargs wc -l
find . -name '*.py' -not -path './.venv/*' -exec grep -l foo {} +
sort names.txt | uniq -c | sort -rn | head
cut -d, -f1 data.csv | sort -u
tr a-z A-Z < names.txt
diff a.txt b.txt
diff <(ls src) <(ls tests)
stat -c %s README.md
file *
du -sh *
tree -L 2 src
jq -r .name package.json
sed -n '1,40p' src/app.py
awk '{print $1}' names.txt | sort | uniq
which python git
date +%F
echo $HOME
echo "$USER on $(date)"
echo hello && ls
git status
git status --short
git --no-pager diff
git --no-pager log --oneline -n 5
git -C . status
git -C src log --oneline
git diff --stat HEAD~1
git diff main...HEAD -- src/
git log --oneline --graph -n 20
git show HEAD:src/app.py | head
git branch -a
git branch --list 'feat/*'
git blame -L 1,20 src/app.py
git ls-files | wc -l
git rev-parse --abbrev-ref HEAD
echo "changed: $(git status --short)"
if [ -z "$(git status --short)" ]; then echo clean; fi
test -f README.md && cat README.md
for f in *.py; do echo "$f"; done
for f in src/*.py; do wc -l "$f"; done
for d in a b c; do ls "$d"; git -C . log -n 1 --oneline; done
""".strip().splitlines()


def asked(rules: Rules) -> list[str]:
    return [line for line in ORDINARY if not isinstance(decide(assess(SHELL, Intent(line=line)), rules), Allow)]


def test_there_are_65_of_them() -> None:
    assert len(set(ORDINARY)) == 65


@pytest.mark.parametrize("rules", [BY_NAME, BY_RISK, BY_DEFAULT], ids=["by name", "by risk", "by default"])
def test_at_most_three_ordinary_commands_are_asked_about(rules: Rules) -> None:
    assert len(asked(rules)) <= 3, asked(rules)


def decided(line: str, *allowlist: str, rules: str = "") -> str:
    given = Rules(
        allowlist=allowlist,
        rules=load_rules(rules, origin="test") if rules else (),
        root="/workspace",
        home="/home/user",
    )
    return type(decide(assess(SHELL, Intent(line=line)), given)).__name__


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("git diff", "git diff --output=out"),
        ("git log", "git log -p --output out"),
        ("git", "git archive -o out HEAD"),
        ("sort", "sort -o out a"),
        ("uniq", "uniq a out"),
        ("find", "find . -fprint out"),
        ("tree", "tree -o out"),
        ("sed", "sed -i s/a/b/ a"),
        ("curl", "curl -o out https://example.com"),
        ("pytest", "pytest --basetemp=out"),
    ],
)
def test_what_an_option_writes_needs_a_rule_with_a_path(entry: str, line: str) -> None:
    program = entry.split()[0]
    rules = f"rules: [{{name: a, effect: allow, command: {program}}}, {{name: b, effect: allow, path: [out, a]}}]"
    assert decided(line, entry) == "Ask"
    assert decided(line, rules=rules) == "Allow"


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("sort", "sort *"),
        ("sort", "sort $X"),
        ("cat", "cat $X"),
        ("git log", "git log $X"),
        ("git", "git $X"),
        ("git status", "git -C ../other status"),
        ("git status", "git -C /srv/other status"),
        ("git status", "git -C $X status"),
        ("git status", "git -c core.fsmonitor=x status"),
        ("git status", "git --git-dir=x status"),
        ("ls", "cd .. && ls"),
        ("ls", "cd /srv && ls"),
        ("ls", "cd && ls"),
        ("ls", "cd - && ls"),
        ("ls", "cd $X && ls"),
        ("make", "cd src && make"),
        ("ls", "ls && echo $(touch x)"),
        ("ls", "ls; for f in *; do sort $f; done"),
        ("ls", "echo hi"),
        ("ls", "cd src"),
    ],
)
def test_what_could_be_more_than_the_entry_says_is_asked_about(entry: str, line: str) -> None:
    assert decided(line, entry) == "Ask"


def test_a_rule_for_a_whole_command_does_not_follow_it_elsewhere() -> None:
    rules = "rules: [{name: one, effect: allow, command: pytest $}]"
    assert decided("pytest", rules=rules) == "Allow"
    assert decided("cd src && pytest", rules=rules) == "Ask"
    assert decided("env -C src pytest", "env", rules=rules) == "Ask"


def test_a_denied_command_is_denied_behind_a_change_of_directory() -> None:
    given = Rules(allowlist=("git status", "git"), denylist=("git push",), root="/workspace")
    assert type(decide(assess(SHELL, Intent(line="cd src && git --no-pager push")), given)).__name__ == "Deny"
