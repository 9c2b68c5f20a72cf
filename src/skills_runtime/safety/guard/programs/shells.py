"""Shells and the builtins that run code: what they are given is read like the line itself."""

import re

import msgspec

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import risk_of_variable
from skills_runtime.safety.guard.paths import writing
from skills_runtime.safety.guard.programs.options import judge_options, values_of
from skills_runtime.safety.guard.programs.wrappers import is_assignment
from skills_runtime.safety.guard.words import Word, names, plain_word

SHELLS = names("sh bash dash zsh ksh mksh ash rbash fish csh tcsh yash pdksh lksh posh oksh bosh elvish nu xonsh pwsh")
_FOREIGN = names("fish csh tcsh elvish nu xonsh pwsh")
"""Shells with a grammar of their own."""
_VALUED = frozenset({"--rcfile", "--init-file", "--init-command", "--features", "--debug-output"})
_RUNS_ARGUMENTS = re.compile(r'(?:^|[;&|(]|exec|then|do|else)\s*"?\$[@*1{]')
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def shell(call: Call) -> None:
    """A shell: `-c` with code, a script file, or whatever it is fed."""
    if call.name in _FOREIGN:
        call.puzzle("uses a shell whose grammar is not read")
    wants_code, reads, index, args = False, False, 0, call.args
    while index < len(args):
        word = args[index]
        if word.shape in ("--", "-") or not re.match(r"[-+]", word.shape):
            break
        if word.value is None:
            call.puzzle("an option is only known when it runs", word, "high")
            return
        if word.option.startswith("--"):
            index += _long(call, word, args[index + 1 : index + 2])
            wants_code = wants_code or word.option == "--command"
        else:
            wants_code = wants_code or ("c" in word.shape and word.shape[0] == "-")
            reads = reads or ("s" in word.shape and word.shape[0] == "-")
            index += 1 + len(re.findall("[oO]", word.shape))
    if (
        args[index : index + 1]
        and args[index].shape in ("--", "-")
        and not (args[index].shape == "-" and not wants_code)
    ):
        index += 1
    rest = args[index:]
    if any(word.option == "--command" and "=" in word.shape for word in args):
        return
    if wants_code:
        _code(call, rest)
    elif rest and rest[0].shape not in _STDIN and not reads:
        script_file(call, rest[0])
    else:
        fed(call)


def _long(call: Call, word: Word, following: list[Word]) -> int:
    if word.option == "--command" and "=" in word.shape:
        call.code(word.after(len("--command=")))
    if word.option in ("--rcfile", "--init-file"):
        call.worsen("high", "starts a shell with another start-up file", word)
    elif word.option == "--init-command":
        call.puzzle("runs code at the start of a shell", word, "high")
    return 2 if word.option in _VALUED and "=" not in word.shape and following else 1


def _code(call: Call, rest: list[Word]) -> None:
    if not rest:
        call.puzzle("a shell is given no code", None, "high" if call.scene.listed else "medium")
        return
    if call.scene.listed and len(rest) == 1 and rest[0].value is None:
        call.puzzle("runs whatever it is given as code", rest[0], "high")
        return
    call.code(rest[0])
    if len(rest) > 2 and _RUNS_ARGUMENTS.search(rest[0].value or ""):
        call.run(rest[2:])


def script_file(call: Call, word: Word) -> None:
    """A program that runs a file of code."""
    if word.process:
        call.puzzle("runs what another command writes", word, "high")
    elif word.value is None:
        call.puzzle(
            "runs a file that is only known when it runs", word, "high" if word.built or call.scene.listed else "medium"
        )
    elif word.value.startswith("/dev/") or word.value.startswith("/proc/"):
        call.puzzle("runs what it is fed", word, "high")
    else:
        call.worsen("medium", "runs a file of code", word)


def fed(call: Call, *, shell_code: bool = True) -> None:
    """A shell or an interpreter that takes its code from its standard input."""
    if call.scene.feed is None:
        call.worsen("medium", "starts a shell that waits for more")
        return
    feed = call.scene.feed()
    if feed.text is not None and shell_code:
        scene = msgspec.structs.replace(call.scene, feed=None)
        call.code(plain_word(feed.text, *feed.place), scene)
        return
    call.puzzle("runs what it is fed", None, "medium" if feed.programs == ("cat",) else "high")


def evaluate(call: Call) -> None:
    """`eval`: its arguments are code."""
    call.joined([word for index, word in enumerate(call.args) if index or word.shape != "--"])


def source(call: Call) -> None:
    """`source` and `.`: a file of code for this very shell."""
    if call.args:
        script_file(call, call.args[0])


def trap(call: Call) -> None:
    """`trap`: code that runs later."""
    operands = [word for word in call.args if word.shape not in ("--",) and not re.fullmatch(r"-[lpP]", word.shape)]
    if len(operands) > 1 and operands[0].shape not in ("-", ""):
        call.code(operands[0])


def alias(call: Call) -> None:
    """`alias`: a name that stands for something else."""
    for word in call.args:
        if "=" in word.shape:
            call.puzzle("gives a name another meaning", word)
            call.code(word.after(word.shape.index("=") + 1))


def declare(call: Call) -> None:
    """`declare`, `export` and their like: variables, and functions that are handed on."""
    for word in call.args:
        if is_assignment(word):
            name, _, value = word.shape.partition("=")
            call.judged(risk_of_variable(name, None if word.value is None else value), word)
        elif word.option and "n" in word.option and call.name != "export":
            call.puzzle("makes a variable stand for another", word)
        elif word.option and "f" in word.option and call.name == "export":
            call.puzzle("hands a function on to other programs", word)
        elif word.value is None and word.built:
            call.puzzle("an argument is only known when it runs", word)


_NAMED_BY = {"printf": "v", "wait": "p"}
"""Builtins that set the variable which this option names; of the others the operands are variables."""


def setter(call: Call) -> None:
    """`read`, `printf -v` and their like: variables that get a value nobody has seen."""
    judge_options(call)
    option = _NAMED_BY.get(call.name)
    if option is None:
        for word in call.operands():
            call.judged(risk_of_variable(word.shape, None), word)
        return
    first = call.args[0] if call.args else None
    if first is None or (not first.option and not (first.loose and call.name == "printf")):
        return
    for word in values_of(call, f"-{option}"):
        call.judged(risk_of_variable(word.shape, None), word)
        if word.value is None:
            call.puzzle("sets a variable whose name is only known when it runs", word)
    if first.loose:
        call.puzzle("an argument may turn out to be an option", first)


_TEST_BINARY = re.compile(r"==?|!=|=~|[<>]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef|a|o)")


def test(call: Call) -> None:
    """`test`: a word in it may be evaluated."""
    if word := evaluated_word(call.args):
        call.puzzle("a test may evaluate what is only known when it runs", word)


def evaluated_word(words: list[Word]) -> Word | None:
    """The unknown word of a test that stands, or may come to stand, behind `-v`: what is there is evaluated."""
    for index, word in enumerate(words):
        before = words[index - 1].shape if index else ""
        after = words[index + 1].shape if index + 1 < len(words) else ""
        leads = word.loose and not before and bool(after) and not _TEST_BINARY.fullmatch(after)
        if word.built and (before in ("-v", "-R") or word.several or leads):
            return word
    return None


def unset(call: Call) -> None:
    """`unset`: taking away what other rules rely on."""
    for word in call.operands():
        if word.value is None or risk_of_variable(word.shape, None):
            call.worsen("medium", "takes away a variable that programs rely on", word)
        if word.shape == "HISTFILE":
            call.worsen("high", "wipes the history", word)


def shopt(call: Call) -> None:
    """`shopt`: how the shell reads what follows."""
    for word in call.operands():
        if word.shape in ("expand_aliases", "extglob", "dotglob", "nullglob", "sourcepath", "cdable_vars", "lastpipe"):
            call.puzzle("changes how the shell reads commands", word)


def umask(call: Call) -> None:
    """`umask` and `ulimit`: limits for what follows."""
    if call.operands():
        call.worsen("medium", "changes the limits of what follows")


def cd(call: Call) -> None:
    """`cd`: what follows works somewhere else."""
    for word in call.operands():
        if word.shape.startswith(("/", "~", "..")) and writing(word.shape)[0] == "high":
            call.worsen("medium", "goes to a system directory", word)
        elif word.built:
            call.puzzle("goes to a place that is only known when it runs", word)
