"""Programs that run another program: the command behind them is judged as if it stood alone."""

import re

import msgspec

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.options import judge_options
from skills_runtime.safety.guard.paths import writing
from skills_runtime.safety.guard.programs import is_known
from skills_runtime.safety.guard.text import names
from skills_runtime.safety.guard.unwrap import unwrap
from skills_runtime.safety.guard.variables import risk_of_variable
from skills_runtime.safety.guard.words import HOLE, Word, unknown_word
from skills_runtime.safety.guard.wrappers import WRAPPERS, Wrapper

_XARGS = Wrapper(
    "0rtxpo",
    "IiLlnPsdEea",
    "null no-run-if-empty verbose exit interactive open-tty show-limits",
    "replace max-lines max-args max-procs max-chars delimiter eof arg-file process-slot-var",
)
_ENV = Wrapper(
    "i0v-",
    "uCP",
    "ignore-environment null debug list-signal-handling",
    "unset chdir argv0 block-signal default-signal ignore-signal",
    assigns=True,
    code="S",
    code_name="split-string",
)
_MAX_GUESSES = 16
_MAX_GUESSED_DEPTH = 6
_LISTING = names("find fd fdfind ls git grep egrep fgrep rg ag sort uniq head tail wc")
"""What they write is names that were found, not names that were made up."""


def wrapper(call: Call) -> None:
    """Any program of the table."""
    grammar = WRAPPERS[call.name]
    if grammar.level != "low":
        call.worsen(grammar.level, grammar.reason)
    judge_options(call)
    opened = unwrap(grammar, call.args)
    assignments(call, opened.assignments)
    if not opened.understood:
        call.puzzle("the options of a wrapper are not understood", opened.rest[0])
        guess(call, opened.rest[1:])
    elif opened.code is not None:
        call.code(opened.code)
    elif opened.nothing_runs:
        return
    elif grammar.line and not call.short("x") and not call.has("exec"):
        call.joined(opened.rest)
    elif opened.rest:
        call.run(opened.rest)
    elif call.scene.listed:
        call.puzzle("runs whatever it is given", None, "high")


def assignments(call: Call, words: list[Word]) -> None:
    """Variables that are set for one command."""
    for word in words:
        name, _, value = word.shape.partition("=")
        call.judged(risk_of_variable(name, None if word.value is None else value), word)


def guess(call: Call, words: list[Word]) -> None:
    """Judge what could be a command inside of words that are not understood: the first name that is known."""
    from skills_runtime.safety.guard.judges.table import judge_for

    plausible = [
        index
        for index, word in enumerate(words[:_MAX_GUESSES])
        if word.value is not None and not word.option and re.fullmatch(r"[\w./-]+", word.value)
    ]
    if not plausible or call.scene.depth >= _MAX_GUESSED_DEPTH:
        return
    bases = {index: (words[index].value or "").rpartition("/")[2] for index in plausible}
    known = (index for index, name in bases.items() if is_known(name) or judge_for(name))
    call.run(words[next(known, plausible[0]) :])


def env(call: Call) -> None:
    """`env`: variables, then a command; alone it shows all variables."""
    opened = unwrap(_ENV, call.args)
    assignments(call, opened.assignments)
    if not opened.understood:
        call.puzzle("the options of a wrapper are not understood", opened.rest[0])
        guess(call, opened.rest[1:])
    elif opened.code is not None:
        call.puzzle("puts a command together from one text", opened.code)
        call.joined([opened.code, *opened.assignments, *opened.rest])
    elif opened.rest:
        call.run(opened.rest)
    elif call.scene.listed:
        call.puzzle("runs whatever it is given", None, "high")
    elif not opened.nothing_runs:
        call.worsen("medium", "shows all variables")


def xargs(call: Call) -> None:
    """`xargs`: a command with arguments that nobody has seen."""
    opened = unwrap(_XARGS, call.args)
    if not opened.understood:
        call.puzzle("the options of a wrapper are not understood", opened.rest[0])
        guess(call, opened.rest[1:])
        return
    if opened.nothing_runs:
        return
    call.worsen("medium", "runs a command for whatever it is fed")
    feed = call.scene.feed() if call.scene.feed else None
    found = feed is not None and bool(feed.programs) and all(name in _LISTING for name in feed.programs)
    replaced = _replacement(call)
    words = [_filled(word, replaced, built=not found) for word in opened.rest]
    if not replaced and words:
        words.append(unknown_word(start=words[-1].start, end=words[-1].end, built=not found, several=True))
    call.run(words, msgspec.structs.replace(call.scene, feed=None, listed=True))


def _replacement(call: Call) -> str:
    for index, word in enumerate(call.args):
        match = re.match(r"-[0rtxpo]*I(.*)|--replace(?:=(.*))?$|-[0rtxpo]*i(.*)", word.shape)
        if match and match[1] is not None:
            return match[1] or (call.args[index + 1].shape if index + 1 < len(call.args) else "{}")
        if match:
            return match[2] or match[3] or "{}"
    return ""


def _filled(word: Word, replaced: str, *, built: bool) -> Word:
    if not replaced or replaced not in word.shape:
        return word
    shape = word.shape.replace(replaced, HOLE)
    return msgspec.structs.replace(word, value=None, shape=shape, built=built or shape != HOLE)


def find(call: Call) -> None:
    """`find`: what it finds may be deleted, written down, or handed to a command."""
    index, args = 0, call.args
    while index < len(args):
        word = args[index]
        name = word.shape
        if word.built:
            call.puzzle("an argument is only known when it runs", word)
        elif name == "-delete":
            call.worsen("high", "deletes everything it finds", word)
        elif name in ("-fprint", "-fprint0", "-fprintf", "-fls") and index + 1 < len(args):
            call.worsen(*writing(args[index + 1].shape), args[index + 1])
        elif name == "-files0-from":
            call.worsen("medium", "takes its options from a file", word)
        elif name in ("-exec", "-execdir", "-ok", "-okdir"):
            index = _found(call, index + 1)
        index += 1


def _found(call: Call, start: int) -> int:
    """Judge the command of one `-exec`, and say where it ends."""
    end = start
    while end < len(call.args) and call.args[end].shape != ";":
        if call.args[end].shape == "+" and end > start and call.args[end - 1].shape == "{}":
            break
        end += 1
    if end == len(call.args):
        call.puzzle("a command has no end", call.args[start - 1])
    words = [_filled(word, "{}", built=False) for word in call.args[start:end]]
    call.worsen("medium", "runs a command for everything it finds", call.args[start - 1])
    call.run(words, msgspec.structs.replace(call.scene, feed=None, listed=True))
    return end


def fd(call: Call) -> None:
    """`fd`: like `find`, with other options."""
    for index, word in enumerate(call.args):
        if word.shape in ("-x", "-X", "--exec", "--exec-batch"):
            call.worsen("medium", "runs a command for everything it finds", word)
            words = [_filled(part, "{}", built=False) for part in call.args[index + 1 :]]
            call.run(words, msgspec.structs.replace(call.scene, feed=None, listed=True))
            return
        if re.match(r"-[a-zA-Z]*[xX]|--exec", word.shape):
            call.puzzle("the options of a wrapper are not understood", word, "high")


def parallel(call: Call) -> None:
    """`parallel`: a line of shell for each of many values."""
    args = call.args
    end = next((index for index, word in enumerate(args) if re.match(r":{3,4}\+?$", word.shape)), len(args))
    start = 0
    while start < end and args[start].option:
        start += (
            2 if re.fullmatch(r"-[jPnNLIXSa]|--(?:jobs|delay|timeout|joblog|tmpdir|colsep)", args[start].shape) else 1
        )
    call.puzzle("runs a line for each of many values", None)
    words = args[start:end]
    if words:
        call.joined(words)
        guess(call, words)
    else:
        call.puzzle("runs what it is fed", None, "high")
        for word in args[end + 1 :]:
            call.code(word)


def runner(call: Call) -> None:
    """`uv run` and its like: a command inside of a project's environment."""
    call.worsen("medium", "runs what a project's files say")
    verbs = {"run", "exec", "x", "dlx", "tool"} if call.name not in ("npx", "bunx", "pipx-run") else set[str]()
    index = 0
    while index < len(call.args) and (call.args[index].option or call.args[index].shape in verbs):
        index += 1
    ran = not verbs or any(word.shape in verbs for word in call.args[:index])
    if ran and call.name not in ("npm", "yarn", "pnpm", "bun", "cargo", "go") and index < len(call.args):
        call.run(call.args[index:])
    elif ran:
        guess(call, [word for word in call.args[index + 1 :] if word.shape != "--"][:0])
