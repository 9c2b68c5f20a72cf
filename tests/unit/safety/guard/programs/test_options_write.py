"""What an option or an operand has a reading program write is a write, and what loads code is never harmless."""

import pytest

from skills_runtime.safety.guard import LEVELS, read_line


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("git diff --output=out", ("out",)),
        ("git diff --output out", ("out",)),
        ("git --no-pager log -p --outp=out", ("out",)),
        ("git stash show --output=out", ("out",)),
        ("git format-patch -o out HEAD~1", ("out",)),
        ("git format-patch --output-directory=out", ("out",)),
        ("git archive -oout HEAD", ("out",)),
        ("git archive --output out HEAD", ("out",)),
        ("git ls-files -o src", ()),
        ("git grep -o foo src", ()),
        ("sort -o out a", ("out",)),
        ("sort -roout a", ("out",)),
        ("sort --output=out a", ("out",)),
        ("sort -T dir a", ("dir",)),
        ("uniq a out", ("out",)),
        ("uniq -f 1 a", ()),
        ("uniq -f 1 a out", ("out",)),
        ("xxd -r a out", ("out",)),
        ("xxd a -o", ("-o",)),
        ("uniq a -", ()),
        ("sort -o - a", ("-",)),
        ("find . -fprint out", ("out",)),
        ("find . -fprintf out %p", ("out",)),
        ("find . -fls out", ("out",)),
        ("tree -o out", ("out",)),
        ("iconv -f utf8 a -o out", ("out",)),
        ("sed -i s/a/b/ x y", ("x", "y")),
        ("sed -bi p x", ("x",)),
        ("sed --in-place=.bak p x", ("x",)),
        ("dd if=a of=out", ("out",)),
        ("curl -so out https://example.com", ("out",)),
        ("wget -O out https://example.com", ("out",)),
        ("pytest --basetemp=out", ("out",)),
        ("py.test --junitxml out", ("out",)),
        ("mypy --html-report out src", ("out",)),
        ("mypy --cache-dir=/dev/null src", ()),
        ("eslint -o out .", ("out",)),
        ("time -o out ls", ("out",)),
        ("time grep -o foo a", ()),
        ("bash -c 'sort -o out a'", ("out",)),
        ("ls | xargs sort -o out", ("out",)),
        ("find . -exec sort -o out {} +", ("out",)),
        ("cat a | tee out", ()),
    ],
)
def test_what_an_option_writes_is_among_the_writes(line: str, writes: tuple[str, ...]) -> None:
    assert read_line(line).writes == writes


def test_a_file_of_an_option_that_only_the_shell_knows_is_not_understood() -> None:
    reading = read_line("sort -o $X a")
    assert reading.writes == (None,)
    assert reading.unclear


def test_a_protected_file_is_one_for_an_option_as_well() -> None:
    assert read_line("git log --output=.git/hooks/pre-commit").risk.level == "high"


@pytest.mark.parametrize(
    "line",
    [
        "cargo --config x check",
        "cargo tree --config x",
        "go vet -vettool=x ./...",
        "go vet -vettool x",
        "eslint --rulesdir d .",
        "eslint --plugin x .",
        "npm ls --script-shell x",
        "pytest -p x",
        "pytest -qc x",
        "pytest --config-file=x",
        "pytest -o cache_dir=x",
        "pytest --rootdir x",
        "py.test -px",
        "mypy --config-file x",
        "pyright -p x",
        "ruff check --config x",
        "tsc -p x",
        "make -f x",
        "node -r x y.js",
        "perl -Mx y.pl",
        "nm --plugin x a.o",
        "jq -L x .",
    ],
)
def test_an_option_that_loads_code_is_at_least_medium(line: str) -> None:
    assert LEVELS.index(read_line(line).risk.level) >= LEVELS.index("medium")


@pytest.mark.parametrize(
    "line",
    [
        "git reflog expire --all",
        "git fsck --lost-found",
        "git interpret-trailers --in-place a",
        "git config --list --edit",
        "git ls-remote",
        "git remote show origin",
        "git branch -v new",
        "awk -e'BEGIN{system(\"x\")}'",
        "awk -W exec=x",
        "sed --in-p p a",
        "file -C -m x",
        "ptx -G a b",
        "history -a x",
        "printf -v PATH x",
        "read PATH",
        "mapfile PATH",
        "for PATH in x; do ls; done",
        "compgen -W '$(x)'",
        "wait -n -p PATH",
        "tree -R -L 1",
    ],
)
def test_a_use_of_a_reading_program_that_does_more_is_not_low(line: str) -> None:
    assert read_line(line).risk.level != "low"


@pytest.mark.parametrize(
    "line",
    [
        "sort *",
        "sort $X",
        "git log $X",
        "git $X",
        "rg foo *",
        "find *",
        "uniq src/*",
        "sed p *",
        'for f in *; do sort "$f"; done',
        "for f in src/*; do sort $f; done",
        "date $X",
        "sort a $(ls)",
        "git diff *.md",
        "sort -k$X a",
    ],
)
def test_a_word_that_may_turn_out_to_be_an_option_is_not_low(line: str) -> None:
    assert read_line(line).risk.level != "low"


@pytest.mark.parametrize(
    "line",
    [
        "cat *",
        "echo $X",
        'grep foo "$X"',
        "ls $(cat a)",
        "sort src/*",
        "git log src/*.py",
        "rg foo ./*",
        "wc -l $(git ls-files)",
        'for f in src/*; do sort "$f"; done',
        "for f in a b; do git log $f; done",
        "timeout 5 cat *",
        "sort -k1 a$((1+1))",
        "find . -name '*.py' | xargs wc -l",
        "find . -exec cat {} +",
        'echo "$(git status --short)"',
        "pytest --pdb --cov=src",
    ],
)
def test_a_word_that_cannot_do_harm_is_low(line: str) -> None:
    assert read_line(line).risk.level == "low"


@pytest.mark.parametrize(
    "line",
    [
        "echo $(( $(cat a) ))",
        "x=$(cat a); echo $((x))",
        "[[ $(cat a) -eq 1 ]]",
        "read x; (( x ))",
        "echo ${a[$(cat b)]}",
        "[ $(cat a) ]",
        '[ -v "$(cat a)" ]',
        'test "$(cat a)" b',
        "x=$(cat a); echo ${y:x}",
        "i=$(cat a); b[i]=1",
        "x=$(cat a); y=x; echo $((y))",
        "x=($(cat a)); echo $((x))",
        "echo $(cat a); echo $((_))",
        "echo ${x:=$(cat a)}; echo $((x))",
        "x=$(cat a); eval 'echo $((x))'",
        "export x=\"$(cat a)\"; bash -c 'echo $((x))'",
        "export x=\"$(cat a)\"; bash -c 'cat $x'",
    ],
)
def test_a_text_that_the_shell_evaluates_is_not_understood(line: str) -> None:
    assert read_line(line).unclear


@pytest.mark.parametrize(
    "line",
    [
        "echo $((1 + 2))",
        "for i in 1 2; do echo $((i * 2)); done",
        "n=$(ls | wc -l); echo $((n + 1))",
        '[ -z "$(cat a)" ]',
        "[ $(git status --short | wc -l) -eq 0 ]",
        "for ((i=0; i<3; i++)); do echo $i; done",
        "n=0; n=$((n+1)); [[ $n -eq 1 ]]",
    ],
)
def test_numbers_are_calculated_without_a_question(line: str) -> None:
    assert read_line(line).risk.level == "low"
