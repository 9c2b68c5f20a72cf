"""Assess interpreters with code as an argument: the code is searched, not parsed."""

import re

import msgspec

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.paths import assess_read
from skills_runtime.safety.guard.programs.shells import assess_script_file, assess_stdin_code
from skills_runtime.safety.guard.words import Word, plain_word

_DANGEROUS = re.compile(
    r"system|popen|subprocess|exec|spawn|eval|compile|import\s*\(|__|importlib|ctypes|socket|urllib|requests|https?|ftp|smtp"
    r"|shutil|rmtree|unlink|remove|rmdir|chmod|chown|kill|fork|environ|getattr|globals|builtins|base64|codecs|fromhex|decode|marshal"
    r"|pickle|open|write|child_process|process\.|require|Deno|Bun|fetch|net\.|fs\b|rm\b|qx|`|\$\(|chr\(|\\x|\\u|pty|pathlib|File|IO\b|Dir"
    r"|sys\b|os\b|Runtime|ProcessBuilder|shell|pack",
    re.IGNORECASE,
)


class Language(msgspec.Struct, frozen=True):
    """How an interpreter receives its code."""

    code: str = "e"
    """Short options whose value is code."""
    values: str = ""
    """Short options with another value."""
    modules: str = ""
    """Short options whose value names a module to run."""
    words: tuple[str, ...] = ()
    """Long options and words whose value is code."""


_LANGUAGES: tuple[tuple[str, Language], ...] = (
    ("python python2 python3 pypy pypy3 ipython jython", Language("c", "WXQ", "m")),
    ("perl", Language("eE", "IMmCDx")),
    ("ruby", Language("e", "IrCEFKTWx")),
    ("node nodejs deno bun", Language("ep", "rC", words=("--eval", "--print", "eval", "-pe"))),
    ("php", Language("rRBE", "cdfFStz", words=("--run",))),
    ("lua luajit osascript", Language("e", "lj")),
    ("R Rscript", Language("e", "f")),
    ("julia", Language("eE", "LpJ")),
    ("expect", Language("c", "f")),
    ("tclsh wish jshell bc m4", Language("")),
    ("elixir", Language("e", "rS")),
    ("erl", Language("", words=("-eval", "-run", "-s"))),
    ("ghc runghc scala groovy swift racket", Language("e")),
    ("guile", Language("c", "Lls")),
    ("sbcl octave", Language("", words=("--eval", "--load"))),
    ("emacs", Language("", words=("--eval", "--execute", "-eval", "-l", "--load", "-f", "--funcall"))),
    ("dc", Language("e", "f")),
    ("powershell", Language("", words=("-Command", "-EncodedCommand", "-c", "-e", "-enc"))),
)
LANGUAGES: dict[str, Language] = {name: grammar for group, grammar in _LANGUAGES for name in group.split()}


def assess_interpreter(call: Call) -> None:
    """Assess an interpreter: code in an option, a module, a script file, or standard input."""
    grammar = LANGUAGES[re.sub(r"[\d.]+$", "", call.name) if call.name not in LANGUAGES else call.name]
    index, args = 0, call.args
    while index < len(args):
        word = args[index]
        if word.shape in ("-V", "--version", "-v", "--help", "-h", "-VV") and len(args) == 1:
            return
        if word.option in grammar.words or word.shape in grammar.words:
            following = args[index + 1] if index + 1 < len(args) else None
            assess_code(call, word.suffix(word.shape.index("=") + 1) if "=" in word.shape else following)
            return
        if not word.option:
            break
        consumed = _option(call, grammar, index)
        if consumed is None:
            return
        index += consumed
    operands = args[index:]
    if operands and operands[0].shape != "-":
        assess_script_file(call, operands[0])
    elif call.context.stdin is not None and (stdin := call.context.stdin()).text is not None:
        assess_code(call, plain_word(stdin.text, *stdin.byte_range))
    else:
        assess_stdin_code(call, shell_code=False)


def _option(call: Call, grammar: Language, index: int) -> int | None:
    """Return how many words an option takes; None for an option with code."""
    word = call.args[index]
    following = call.args[index + 1] if index + 1 < len(call.args) else None
    if word.shape.startswith("--"):
        return 1
    for position, letter in enumerate(word.shape[1:], 1):
        attached = word.suffix(position + 1) if position + 1 < len(word.shape) else None
        if letter in grammar.code:
            assess_code(call, attached or following)
            return None
        if letter in grammar.modules:
            assess_module(call, attached or following, call.args[index + (1 if attached else 2) :])
            return None
        if letter in grammar.values:
            if letter in "IMmrX":
                call.add_risk("medium", "loads code named by an option", attached or following)
            return 1 if attached else 2
    return 1


def assess_code(call: Call, word: Word | None) -> None:
    """Assess code in another language: always unclear, high if it may touch files, programs or the network."""
    harmless = word is not None and word.value is not None and not _DANGEROUS.search(word.value)
    call.mark_unclear("runs code in another language", word, "medium" if harmless else "high")


def assess_module(call: Call, word: Word | None, operands: list[Word]) -> None:
    """Assess `python -m`: some modules are programs of their own."""
    if word is None or word.value is None:
        call.mark_unclear("runs a module that is only known when it runs", word)
    elif word.value in ("pytest", "mypy", "pip", "coverage", "ruff", "black", "pylint", "flake8", "isort"):
        call.add_risk("medium", "runs a module", word)
        call.read_wrapped([word, *operands])
    elif word.value in ("timeit", "pdb", "cProfile", "profile", "trace", "runpy", "code"):
        call.mark_unclear("runs code in another language", word, "high")
    else:
        call.add_risk("medium", "runs a module", word)


_AWK_RUNS = re.compile(r"system|getline|\||@|close\(|fflush\(|-f\b")
_AWK_FLAG = re.compile(r"-[bcnrkPSt]+|--(?:posix|re-interval|csv|sandbox|version|characters-as-bytes|traditional|lint)")
_AWK_VALUE = re.compile(r"-[Fv]|--(?:field-separator|assign)(?:=|$)")
_AWK_CODE = re.compile(r"-e|--source(?:=|$)")


def assess_awk(call: Call) -> None:
    """Assess `awk`: harmless as long as it only prints."""
    index, args = 0, call.args
    codes: list[Word | None] = []
    while index < len(args) and args[index].option and args[index].shape != "--":
        word = args[index]
        if (option := _AWK_CODE.match(word.shape) or _AWK_VALUE.match(word.shape)) is not None:
            attached = len(word.shape) > option.end() or option[0].endswith("=")
            value = word.suffix(option.end()) if attached else next(iter(args[index + 1 : index + 2]), None)
            if _AWK_CODE.match(word.shape):
                codes.append(value)
            index += 1 if attached else 2
            continue
        if not _AWK_FLAG.fullmatch(word.shape):
            call.mark_unclear("runs a file of code", word)
            index += word.shape in ("-f", "-i", "-l", "-E", "-W")
        index += 1
    if not codes:
        index += index < len(args) and args[index].shape == "--"
        codes.append(args[index] if index < len(args) else None)
    for program in codes:
        if program is None or program.value is None:
            call.mark_unclear("runs code that is only known when it runs", program, "high")
        elif _AWK_RUNS.search(program.value.replace("||", "")):
            call.mark_unclear("runs other programs from its code", program, "high")
        elif 0 <= program.value.find("print") < program.value.rfind(">"):
            call.mark_unclear("writes files from its code", program)


_SED_ADDRESS = r"(?:\d++|\$|/(?:[^/\\\n]|\\.)*+/I?)"
_SED_STEP = re.compile(
    rf"\s*+(?:{_SED_ADDRESS}(?:,\s*+[+~]?{_SED_ADDRESS})?)?+\s*+!?\s*+"
    r"(?:[pdqQ=nNDPhHgGxlzF{}]\d*+|[btT][ \t]*+\w*+|:[ \t]*+\w++|[aic](?:\\\n|\s)[^\n]*+"
    r"|s([^\w\s\\])(?:(?!\1)[^\\]|\\.)*+\1(?:(?!\1)[^\\]|\\.)*+\1[gIipmM\d]*+"
    r"|y([^\w\s\\])(?:(?!\2)[^\\]|\\.)*+\2(?:(?!\2)[^\\]|\\.)*+\2)?+"
    r"[ \t]*+(?:[;\n}]|$)",
    re.DOTALL,
)
"""One step of a script that neither runs nor writes anything."""


_SED_SHORT = re.compile(r"-[nErsuzb]*(?:([eil])(.*))?", re.DOTALL)
_SED_LONG = re.compile(
    r"--(?:quiet|silent|debug|regexp-extended|separate|unbuffered|null-data|posix|sandbox|binary|follow-symlinks|help"
    r"|version|in-\w*(?:=.*)?|line-length=\d+|)"
)


def assess_sed(call: Call) -> None:
    """Assess `sed`, whose language can also run programs and write files."""
    scripts, operands, in_place = _sed_words(call)
    for script in scripts:
        _sed_script(call, script)
    for word in operands if in_place else ():
        call.add_write(word)
    for word in operands:
        call.add_assessment(assess_read(word.shape), word)
    if in_place:
        call.add_risk("medium", "changes files")


def _sed_words(call: Call) -> tuple[list[Word], list[Word], bool]:
    """Return the scripts, the files, and whether the files are edited in place."""
    scripts: list[Word] = []
    operands: list[Word] = []
    index, in_place = 0, call.has_long("in-place")
    while index < len(call.args):
        word = call.args[index]
        index += 1
        short = _SED_SHORT.fullmatch(word.shape)
        if word.shape == "--expression" or (short and short[1] in ("e", "l") and not short[2]):
            scripts += [] if short and short[1] == "l" else call.args[index : index + 1]
            index += 1
        elif word.shape.startswith("--expression="):
            scripts.append(word.suffix(len("--expression=")))
        elif short and short[1] == "e":
            scripts.append(word.suffix(short.start(2)))
        elif not word.option:
            operands.append(word)
        elif not short and not _SED_LONG.fullmatch(word.shape):
            call.mark_unclear("runs a file of code", word)
        in_place = in_place or bool(short and short[1] == "i")
    return (scripts, operands, in_place) if scripts else (operands[:1], operands[1:], in_place)


def _sed_script(call: Call, word: Word) -> None:
    if word.value is None:
        call.mark_unclear("runs code that is only known when it runs", word, "high")
        return
    offset = 0
    while offset < len(word.value):
        step = _SED_STEP.match(word.value, offset)
        if step is None or step.end() == offset:
            runs = re.search(r"(?:^|[;{}\n\s\d$/|,#!])[ewWrR]|[gIipmM\d|/#,][ew]", word.value[offset:])
            call.mark_unclear("edits text by a script that is not understood", word, "high" if runs else "medium")
            return
        offset = step.end()
