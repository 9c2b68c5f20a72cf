"""Assess shells and builtins that run code: the code is analyzed like the line itself."""

import re

import msgspec

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import assess_variable
from skills_runtime.safety.guard.paths import assess_write
from skills_runtime.safety.guard.programs.options import assess_options, option_values
from skills_runtime.safety.guard.programs.wrappers import is_assignment
from skills_runtime.safety.guard.words import Word, names, plain_word

SHELLS = names("sh bash dash zsh ksh mksh ash rbash fish csh tcsh yash pdksh lksh posh oksh bosh elvish nu xonsh pwsh")
_FOREIGN = names("fish csh tcsh elvish nu xonsh pwsh")
"""Shells with another grammar."""
_VALUED = frozenset({"--rcfile", "--init-file", "--init-command", "--features", "--debug-output"})
_RUNS_ARGUMENTS = re.compile(r'(?:^|[;&|(]|exec|then|do|else)\s*"?\$[@*1{]')
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def assess_shell(call: Call) -> None:
    """Assess a shell: `-c` with code, a script file, or standard input."""
    if call.name in _FOREIGN:
        call.mark_unclear("uses a shell whose grammar is not read")
    wants_code, reads, index, args = False, False, 0, call.args
    while index < len(args):
        word = args[index]
        if word.shape in ("--", "-") or not re.match(r"[-+]", word.shape):
            break
        if word.value is None:
            call.mark_unclear("an option is only known when it runs", word, "high")
            return
        if word.option.startswith("--"):
            index += _assess_long_option(call, word, args[index + 1 : index + 2])
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
    operands = args[index:]
    if any(word.option == "--command" and "=" in word.shape for word in args):
        return
    if wants_code:
        _assess_code_option(call, operands)
    elif operands and operands[0].shape not in _STDIN and not reads:
        assess_script_file(call, operands[0])
    else:
        assess_stdin_code(call)


def _assess_long_option(call: Call, word: Word, following: list[Word]) -> int:
    if word.option == "--command" and "=" in word.shape:
        call.read_code(word.suffix(len("--command=")))
    if word.option in ("--rcfile", "--init-file"):
        call.add_risk("high", "starts a shell with another start-up file", word)
    elif word.option == "--init-command":
        call.mark_unclear("runs code at the start of a shell", word, "high")
    return 2 if word.option in _VALUED and "=" not in word.shape and following else 1


def _assess_code_option(call: Call, operands: list[Word]) -> None:
    if not operands:
        call.mark_unclear("a shell is given no code", None, "high" if call.context.unseen_arguments else "medium")
        return
    if call.context.unseen_arguments and len(operands) == 1 and operands[0].value is None:
        call.mark_unclear("runs whatever it is given as code", operands[0], "high")
        return
    call.read_code(operands[0])
    if len(operands) > 2 and _RUNS_ARGUMENTS.search(operands[0].value or ""):
        call.read_wrapped(operands[2:])


def assess_script_file(call: Call, word: Word) -> None:
    """Assess a program that runs a script file."""
    if word.is_process:
        call.mark_unclear("runs what another command writes", word, "high")
    elif word.value is None:
        call.mark_unclear(
            "runs a file that is only known when it runs",
            word,
            "high" if word.computed or call.context.unseen_arguments else "medium",
        )
    elif word.value.startswith("/dev/") or word.value.startswith("/proc/"):
        call.mark_unclear("runs what it is fed", word, "high")
    else:
        call.add_risk("medium", "runs a file of code", word)


def assess_stdin_code(call: Call, *, shell_code: bool = True) -> None:
    """Assess a shell or an interpreter that reads its code from standard input."""
    if call.context.stdin is None:
        call.add_risk("medium", "starts a shell that waits for more")
        return
    stdin = call.context.stdin()
    if stdin.text is not None and shell_code:
        context = msgspec.structs.replace(call.context, stdin=None)
        call.read_code(plain_word(stdin.text, *stdin.byte_range), context)
        return
    call.mark_unclear("runs what it is fed", None, "medium" if stdin.programs == ("cat",) else "high")


def assess_eval(call: Call) -> None:
    """Assess `eval`: its arguments are code."""
    call.read_joined([word for index, word in enumerate(call.args) if index or word.shape != "--"])


def assess_source(call: Call) -> None:
    """Assess `source` and `.`: they run a file in this shell."""
    if call.args:
        assess_script_file(call, call.args[0])


def assess_trap(call: Call) -> None:
    """Assess `trap`: code that runs later."""
    operands = [word for word in call.args if word.shape not in ("--",) and not re.fullmatch(r"-[lpP]", word.shape)]
    if len(operands) > 1 and operands[0].shape not in ("-", ""):
        call.read_code(operands[0])


def assess_alias(call: Call) -> None:
    """Assess `alias`, which renames commands."""
    for word in call.args:
        if "=" in word.shape:
            call.mark_unclear("gives a name another meaning", word)
            call.read_code(word.suffix(word.shape.index("=") + 1))


def assess_declare(call: Call) -> None:
    """Assess `declare`, `export` and similar builtins: variables, and exported functions."""
    for word in call.args:
        if is_assignment(word):
            name, _, value = word.shape.partition("=")
            call.add_assessment(assess_variable(name, None if word.value is None else value), word)
        elif word.option and "n" in word.option and call.name != "export":
            call.mark_unclear("makes a variable stand for another", word)
        elif word.option and "f" in word.option and call.name == "export":
            call.mark_unclear("hands a function on to other programs", word)
        elif word.value is None and word.computed:
            call.mark_unclear("an argument is only known when it runs", word)


_NAMED_BY = {"printf": "v", "wait": "p"}
"""The option that names the variable to set; for other builtins the operands do."""


def assess_variable_setter(call: Call) -> None:
    """Assess `read`, `printf -v` and similar builtins, which set variables to unknown values."""
    assess_options(call)
    option = _NAMED_BY.get(call.name)
    if option is None:
        for word in call.operands():
            call.add_assessment(assess_variable(word.shape, None), word)
        return
    first = call.args[0] if call.args else None
    if first is None or (not first.option and not (first.may_be_option and call.name == "printf")):
        return
    for word in option_values(call, f"-{option}"):
        call.add_assessment(assess_variable(word.shape, None), word)
        if word.value is None:
            call.mark_unclear("sets a variable whose name is only known when it runs", word)
    if first.may_be_option:
        call.mark_unclear("an argument may turn out to be an option", first)


_TEST_BINARY = re.compile(r"==?|!=|=~|[<>]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef|a|o)")


def assess_test(call: Call) -> None:
    """Assess `test`, which may evaluate a word."""
    if word := find_evaluated_word(call.args):
        call.mark_unclear("a test may evaluate what is only known when it runs", word)


def find_evaluated_word(words: list[Word]) -> Word | None:
    """Return the unknown word of a test that is or may become the operand of `-v`, which is evaluated."""
    for index, word in enumerate(words):
        previous = words[index - 1].shape if index else ""
        following = words[index + 1].shape if index + 1 < len(words) else ""
        leads = word.may_be_option and not previous and bool(following) and not _TEST_BINARY.fullmatch(following)
        if word.computed and (previous in ("-v", "-R") or word.may_split or leads):
            return word
    return None


def assess_unset(call: Call) -> None:
    """Assess `unset`, which can remove what other rules rely on."""
    for word in call.operands():
        if word.value is None or assess_variable(word.shape, None):
            call.add_risk("medium", "takes away a variable that programs rely on", word)
        if word.shape == "HISTFILE":
            call.add_risk("high", "wipes the history", word)


def assess_shopt(call: Call) -> None:
    """Assess `shopt`, which changes how the shell parses what follows."""
    for word in call.operands():
        if word.shape in ("expand_aliases", "extglob", "dotglob", "nullglob", "sourcepath", "cdable_vars", "lastpipe"):
            call.mark_unclear("changes how the shell reads commands", word)


def assess_umask(call: Call) -> None:
    """Assess `umask` and `ulimit`, which change limits of what follows."""
    if call.operands():
        call.add_risk("medium", "changes the limits of what follows")


def assess_cd(call: Call) -> None:
    """Assess `cd`: later commands run elsewhere."""
    for word in call.operands():
        if word.shape.startswith(("/", "~", "..")) and assess_write(word.shape)[0] == "high":
            call.add_risk("medium", "goes to a system directory", word)
        elif word.computed:
            call.mark_unclear("goes to a place that is only known when it runs", word)
