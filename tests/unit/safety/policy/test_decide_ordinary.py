"""Commands that developers look around with are not asked about where their parts are not."""

import pytest

from skills_runtime.ports import Intent, ToolSpec
from skills_runtime.safety.guard import assess
from skills_runtime.safety.policy import Allow, Rules, decide, load_rules

SHELL = ToolSpec(name="shell_command", description="", parameters={})
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


@pytest.mark.parametrize("rules", [BY_NAME, BY_RISK], ids=["by name", "by risk"])
def test_at_most_three_ordinary_commands_are_asked_about(rules: Rules) -> None:
    assert len(asked(rules)) <= 3, asked(rules)
