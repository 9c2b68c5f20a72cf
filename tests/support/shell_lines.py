"""Shell lines as developers write them, with dangerous elements, and a directory tree to run them in."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from hypothesis import strategies as st

# Files, patterns, expansions, options in place of files, and texts that are code or options.
_OPERANDS = r"""
a.txt
b.txt
names.txt
src
src/app.py
code.txt
*.txt
*.md
*.py
*.c
*e
*
./*
src/*.py
?.txt
[ab].txt
{a,b}.txt
'a.txt'
"b.txt"
a''.txt
$'a.txt'
$f
"$f"
$x
"$x"
src/$f
"src/$f"
$HOME
$#
$1
"$@"
$((1+1))
$((x))
$(( $(cat code.txt) ))
$(cat code.txt)
"$(cat code.txt)"
$(cat options.txt)
"$(cat options.txt)"
$(cat names.txt)
$(ls)
"$(ls)"
`ls`
$(git ls-files)
$(find . -name '*.txt')
$(ls | head -n 2)
$(git status --short)
$(git status --short | wc -l)
<(ls)
--
-
-n
-l
-v
-o
-oout
--output=out
1
foo
HEAD
out
""".strip().splitlines()
_COMMANDS = r"""
ls -la
cat -n
head -n 3
tail -n 2
wc -l
grep -n foo
grep -rl foo
cut -c1
tr a b
nl
od -c
stat
du -s
basename
realpath
diff a.txt
comm
paste
base64
strings
file
file -C -m
date
date -r
expr 1 +
seq 2
true
type
which
echo
printf %s
printf
printf -v
printf -v PATH
test
test -v
test -n
[ -n @ ]
[ @ ]
[ -v @ ]
[ @ = 1 ]
[[ @ -eq 1 ]]
[[ -v @ ]]
[[ -n @ ]]
(( @ ))
let
sort
sort -r
sort -o out
sort -ro
sort -oout
sort --outp=out
sort -T src
sort --compress-program=canary
uniq
uniq -c
uniq -f 1
xxd
xxd -r
iconv -o out
iconv -f utf8
shuf -o out
ptx -G
ptx
split
tee
tee out
find . -name
find
find . -fprint out
find . -fls
find . -delete
find . -exec canary {} +
find . -exec cat {} +
find . -exec sort -o out {} +
find src -newer
git status
git diff
git diff --output=out
git diff --output
git log -n 1
git log --output=out -p
git show
git --no-pager diff
git -C . status
git -C src log
git -c core.pager=canary log
git -c alias.x=!canary x
git grep foo
git grep -Ocanary foo
git branch
git branch new
git branch --list
git branch -v
git tag
git tag -l
git tag -n
git ls-files -o
git format-patch -1
git format-patch -o out -1
git archive -o out HEAD
git reflog
git reflog expire --all --expire=now
git config --list
git config --list --edit
git config x.y
git rev-parse
git cat-file -p
git blame
git fsck --lost-found
git stash
git stash list
git remote
git notes
git interpret-trailers --in-place
git describe --always
git shortlog
git for-each-ref
git ls-remote .
git bundle create out HEAD
git worktree list
git diff --no-index a.txt
sed p
sed -n 1p
sed -i s/a/b/
sed -bi p
sed -e p
sed -ep
sed -n 'w out'
sed 's/f/b/w out'
sed '1e canary'
sed --in-p p
sed --
awk '{print}'
awk '{print $1}'
awk -F: '{print $1}'
awk '{print>"out"}'
awk 'BEGIN{system("canary")}'
awk -e'BEGIN{system("canary")}'
awk -v x=1 '{print x}'
awk '{print|"canary"}'
awk '$1>2{print}'
awk -f
rg foo
rg --files
rg --pre canary foo
rg --pre=canary foo
rg -z foo
jq .
jq -L src .
tree
tree -o out
cd
cd src
pushd src
read -r f
read
read PATH
mapfile
mapfile -C canary -c 1
export f
export
declare f
unset f
set --
set -e
shift
eval
exec
source
hash -p canary ls
alias ls=canary
trap canary EXIT
compgen -W '$(canary)'
compgen -C canary
history -a out
getopts a
wait -p PATH
kill -l
dd if=a.txt
dd if=a.txt of=out
touch
cp a.txt
canary
./canary
env canary
command -v
command
builtin
"ls"
l''s
$'ls'
diff3 --diff-program=canary a.txt b.txt
""".strip().splitlines()
"""Programs with some of their options; operands follow, or replace `@`."""
_REDIRECTIONS = [
    *[""] * 8, "> out", ">> out", "2> out", "&> out", ">| out", "<> out", "> /dev/null", "2>&1", "2>/dev/null",
    "3> out", "< a.txt", '<<< "$(cat code.txt)"', "> $x", ">& out", "< <(canary)", "> >(canary)", "<<E\n$(canary)\nE\n",
    "<<'E'\n$(canary)\nE\n", '> "out"',
]  # fmt: skip
_SURROUNDINGS = r"""
{0}
{0}
{0}; {1}
{0} && {1}
{0} || {1}
{0} | {1}
({0})
! {0}
if {0}; then {1}; fi
for f in {2}; do {0}; done
for f in {2} {3}; do {0}; {1}; done
for f in *.txt; do {0} "$f"; done
for f in src/*; do {0} $f; done
for f in *; do {0} $f; done
for f in $(git ls-files); do {0} $f; done
for i in {{1..3}}; do {0} $i; done
for PATH in src; do {0}; done
for ((i=0; i<{2}; i++)); do {0}; break; done
while read -r f; do {0} "$f"; break; done < names.txt
{0} | while read f; do {1} $f; break; done
case {2} in *) {0};; esac
g() {{ {0}; }}; g
x={2}; {0} $x
x={2} {0}
x={2}; echo $((x))
x={2}; [[ $x -eq 1 ]]
x={2}; [ $x ]
x={2}; y=x; echo $((y))
x={2}; eval 'echo $((x))'
export x={2}; bash -c '{0} $x'
export x={2}; bash -c 'echo $((x))'
a=({2}); echo $((a))
echo {2}; echo $((_))
echo ${{y:={2}}}; echo $((y))
x=$({0}); {1} "$x"
echo $({0})
echo "$({0})"
[ -z "$({0})" ] && {1}
cat <({0})
echo ${{x:-{2}}}
echo ${{x:{2}}}
echo ${{a[{2}]}}
a[{2}]=1; {0}
set -- {2}; {0} $1
cd src && {0}
timeout 2 {0}
env {0}
env f=1 {0}
command {0}
time {0}
bash -c '{0}'
bash -c "{0}"
eval {0}
{0} | xargs {1}
ls | xargs {0}
find . -name '*.txt' | xargs -I{{}} {0} {{}}
""".strip().splitlines()
"""What a line has around its commands."""

_FILES = {
    "a.txt": "foo\nbar\n",
    "b.txt": "foo\n",
    "-oout.txt": "",
    "x -oout.txt": "",
    "a.md": "",
    "--output=out.md": "",
    "a.py": "foo\n",
    "--pre=canary.py": "",
    "a.c": "a\n",
    "-i.c": "",
    "-delete": "",
    "names.txt": "a.txt\n-oout\n--output=out\n",
    "code.txt": "a[$(canary)]",
    "options.txt": "-v a[$(canary)]",
    "src/app.py": "foo = 1\n",
    "src/ls": "#!/bin/sh\n: > $HOME/mark\n",
    "canary": "#!/bin/sh\n: > $HOME/mark\n",
}
"""A tree in which some names are options, and some texts are code."""
_PROGRAMS = """
awk base64 basename bash cat comm cp cut date dd diff diff3 dirname du env expr file find git grep gzip head iconv jq
ls nl od paste ptx realpath rg sed seq sh shuf sort split stat strings tail tee timeout touch tr tree uniq wc which
xargs xxd
"""


@st.composite
def shell_lines(draw: st.DrawFn) -> str:
    """Return lines of one to six commands."""

    def command() -> str:
        string = draw(st.sampled_from(_COMMANDS))
        operands = " ".join(draw(st.lists(st.sampled_from(_OPERANDS), max_size=3)))
        written = string.replace("@", operands) if "@" in string else f"{string} {operands}"
        return f"{written} {draw(st.sampled_from(_REDIRECTIONS))}".strip()

    line = command()
    for _ in range(draw(st.integers(0, 2))):
        values = [draw(st.sampled_from(_OPERANDS)) for _ in range(2)]
        line = draw(st.sampled_from(_SURROUNDINGS)).format(line, command(), *values)
    return line


class CanaryTree:
    """A directory to run lines in; a program beside it leaves a mark when it is started."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._tree = home / "work"
        programs = home / "programs"
        programs.mkdir()
        for name in _PROGRAMS.split():
            if text := shutil.which(name):
                (programs / name).symlink_to(text)
        for name in ("canary", "canary.py"):
            (programs / name).write_text(f"#!{shutil.which('sh')}\n: > '{home}/mark'\n")
            (programs / name).chmod(0o755)
        self._environment = {"PATH": str(programs), "HOME": str(home), "GIT_OPTIONAL_LOCKS": "0"} | {
            f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        self._build()

    def _build(self) -> None:
        shutil.rmtree(self._tree, ignore_errors=True)
        (self._tree / "src").mkdir(parents=True)
        for name, text in _FILES.items():
            (self._tree / name).write_text(text)
        for name in ("canary", "src/ls"):
            (self._tree / name).chmod(0o755)
        self._run("git init -q -b main . && git add . && git commit -qm one && git tag v1 && echo foo >> a.txt", 60)
        self._before = self._state()

    def _run(self, line: str, seconds: float = 3) -> None:
        (self._home / "mark").unlink(missing_ok=True)
        process = subprocess.Popen(
            [shutil.which("bash") or "bash", "-c", line],
            cwd=self._tree,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _state(self) -> dict[str, tuple[int, bytes]]:
        return {
            str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
            for path in self._tree.rglob("*")
        }

    def is_harmed_by(self, line: str) -> bool:
        """Return whether a line changes the tree or starts the program; the tree is restored afterwards."""
        self._run(line)
        harmed = (self._home / "mark").exists() or self._state() != self._before
        if harmed:
            self._build()
        return harmed
