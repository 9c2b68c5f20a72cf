"""Programs that run another program: how their options are written, and the command behind them, judged as if alone."""

import re

import msgspec

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.known_programs import PLAIN, risk_of_variable
from skills_runtime.safety.guard.programs.options import judge_options
from skills_runtime.safety.guard.words import HOLE, Word, names, unknown_word


class Wrapper(msgspec.Struct, frozen=True):
    """How to find the command behind a program's own options and operands."""

    flags: str = ""
    """Short options without a value."""
    values: str = ""
    """Short options with one."""
    long_flags: str = ""
    long_values: str = ""
    operands: int = 0
    """How many words of its own stand before the command."""
    level: Level = "low"
    reason: str = ""
    assigns: bool = False
    """Whether `NAME=value` may stand before the command."""
    code: str = ""
    """The short option whose value is code for a shell."""
    code_name: str = "command"
    """The same option, spelled out."""
    line: bool = False
    """Whether the rest is put together and given to a shell."""
    lookups: str = ""
    """Short options with which nothing is run."""


_AS = "runs a command as somebody else"
_ELSEWHERE = "runs a command in another environment"

WRAPPERS: dict[str, Wrapper] = {
    "timeout": Wrapper("fpv", "ks", "foreground preserve-status verbose", "kill-after signal", operands=1),
    "gtimeout": Wrapper("fpv", "ks", "foreground preserve-status verbose", "kill-after signal", operands=1),
    "nice": Wrapper("0123456789", "n", "", "adjustment"),
    "ionice": Wrapper("tPu", "cnp", "ignore", "class classdata pid"),
    "nohup": Wrapper(),
    "setsid": Wrapper("cfw", "", "ctty fork wait"),
    "stdbuf": Wrapper("", "ioe", "", "input output error"),
    "time": Wrapper("apvqlh", "fo", "append portability verbose quiet", "format output", assigns=True),
    "command": Wrapper("p", lookups="vV"),
    "builtin": Wrapper(),
    "exec": Wrapper("cl", "a"),
    "coproc": Wrapper(assigns=True),
    "noglob": Wrapper(),
    "nocorrect": Wrapper(),
    "taskset": Wrapper("acp", "", "all-tasks cpu-list pid", operands=1),
    "chrt": Wrapper(
        "abdfimorvR",
        "TPDp",
        "all-tasks batch deadline fifo idle other rr reset-on-fork verbose",
        operands=1,
    ),
    "numactl": Wrapper("labs", "iNCmp", "all localalloc", "interleave cpunodebind physcpubind membind preferred"),
    "choom": Wrapper("", "np", "", "adjust pid"),
    "prlimit": Wrapper(),
    "setarch": Wrapper("BFILRSTXZ3v", "", "addr-no-randomize verbose", operands=1),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "flock": Wrapper(
        "sxenuoFv",
        "wE",
        "shared exclusive unlock nonblock nb close no-fork verbose",
        "timeout wait conflict-exit-code",
        operands=1,
        code="c",
    ),
    "watch": Wrapper(
        "bdegctpqrwx",
        "n",
        "beep color differences errexit chgexit no-title precise equexit no-wrap exec",
        "interval",
        line=True,
    ),
    "script": Wrapper(
        "aefqc",
        "EIOBTmo",
        "append return flush force quiet",
        "echo log-in log-out log-io log-timing",
        level="medium",
        reason="records a terminal session",
        code="c",
    ),
    "strace": Wrapper(
        "fFqvtTikyrcwCDzZdnxY",
        "eoOpsSauEPIbXU",
        level="medium",
        reason="watches another program",
        assigns=True,
    ),
    "ltrace": Wrapper("fFqvtTikrcCSbLh", "eoplsnauxwDA", level="medium", reason="watches another program"),
    "valgrind": Wrapper("vqdh"),
    "dbus-run-session": Wrapper("", "", "", "config-file dbus-daemon"),
    "xvfb-run": Wrapper("al", "efnspw", "auto-servernum listen-tcp", "error-file auth-file server-num server-args"),
    "caffeinate": Wrapper("dimsu", "tw"),
    "unbuffer": Wrapper("p"),
    "rlwrap": Wrapper("acirmnNopvwW", "bBCDefFgGHlMPqstS"),
    "fakeroot": Wrapper("hvu", "lsib", "unknown-is-real", "lib faked"),
    "torsocks": Wrapper("ip", "uaP", level="medium", reason="goes through another network"),
    "proxychains": Wrapper("q", "f", level="medium", reason="goes through another network"),
    "proxychains4": Wrapper("q", "f", level="medium", reason="goes through another network"),
    "eatmydata": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "sudo": Wrapper(
        "ABbEeHiKklnPSsVv",
        "CDghpRrTtUu",
        "askpass background preserve-env set-home login non-interactive stdin shell reset-timestamp "
        "remove-timestamp list validate edit",
        "close-from chdir group host prompt chroot role command-timeout type other-user user",
        level="high",
        reason=_AS,
        assigns=True,
    ),
    "doas": Wrapper("Lns", "Cau", level="high", reason=_AS),
    "pkexec": Wrapper("", "", "disable-internal-agent keep-cwd", "user", level="high", reason=_AS),
    "su": Wrapper(
        "lmpfPhV-",
        "gGsTw",
        "login preserve-environment fast pty",
        "group supp-group shell whitelist-environment",
        operands=1,
        level="high",
        reason=_AS,
        code="c",
    ),
    "runuser": Wrapper(
        "lmpfPhV-",
        "ugGsTw",
        "login preserve-environment fast pty",
        "user group supp-group shell",
        level="high",
        reason=_AS,
        code="c",
    ),
    "gosu": Wrapper(operands=1, level="high", reason=_AS),
    "su-exec": Wrapper(operands=1, level="high", reason=_AS),
    "setpriv": Wrapper(
        "d",
        "",
        "clear-groups no-new-privs nnp keep-groups init-groups",
        "reuid regid ruid euid rgid egid groups inh-caps ambient-caps bounding-set securebits pdeathsig",
        level="high",
        reason=_AS,
    ),
    "sg": Wrapper(operands=1, level="high", reason=_AS, code="c"),
    "chroot": Wrapper("", "", "skip-chdir", "userspec groups", operands=1, level="high", reason=_ELSEWHERE),
    "unshare": Wrapper(
        "imnpuUCTfrc",
        "SGRw",
        "ipc mount net pid uts user cgroup time fork map-root-user map-current-user kill-child mount-proc keep-caps",
        "setuid setgid root wd propagation map-user map-group",
        level="high",
        reason=_ELSEWHERE,
    ),
    "nsenter": Wrapper(
        "amuinpCUTFZ",
        "tSGrw",
        "all mount uts ipc net pid cgroup user time no-fork follow-context",
        "target setuid setgid root wd",
        level="high",
        reason=_ELSEWHERE,
    ),
    "systemd-run": Wrapper(
        "dGtPSqrhH",
        "upEM",
        "user system scope pty pipe shell quiet wait collect remain-after-exit no-block no-ask-password same-dir",
        "unit property description slice service-type uid gid nice working-directory setenv on-active on-boot "
        "on-calendar host machine",
        level="high",
        reason="runs a command outside of this session",
    ),
    "bwrap": Wrapper(level="high", reason=_ELSEWHERE),
    "proot": Wrapper(level="high", reason=_ELSEWHERE),
    "capsh": Wrapper(level="high", reason=_AS),
}


def is_wrapper(name: str) -> bool:
    """Whether a program runs the command in its words, which is judged by itself."""
    return name in WRAPPERS or name in ("env", "genv", "xargs", "gxargs")


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


def is_assignment(word: Word) -> bool:
    """Whether a word before a command sets a variable."""
    return bool(_ASSIGNMENT.match(word.shape))


class Unwrapped(msgspec.Struct, frozen=True):
    """What stands behind a wrapper's own words."""

    rest: list[Word]
    assignments: list[Word] = []
    code: Word | None = None
    nothing_runs: bool = False
    understood: bool = True


def unwrap(wrapper: Wrapper, args: list[Word]) -> Unwrapped:
    """Find the command by the wrapper's grammar; an option it does not have is not understood."""
    index, operands, lookup = 0, wrapper.operands, False
    code: Word | None = None
    assignments: list[Word] = []
    while index < len(args):
        word = args[index]
        if word.shape == "--":
            index += 1 + operands
            while wrapper.assigns and index < len(args) and "=" in args[index].shape:
                assignments.append(args[index])
                index += 1
            break
        if word.option or (word.shape == "-" and "-" in wrapper.flags):
            used, value, known, looks = _option(wrapper, args, index)
            if not known:
                return Unwrapped(args[index:], assignments, understood=False)
            code, lookup, index = value or code, lookup or looks, index + used
        elif wrapper.assigns and "=" in word.shape:
            assignments.append(word)
            index += 1
        elif word.several or word.loose or operands == 0:
            break
        else:
            operands -= 1
            index += 1
    return Unwrapped(args[index:], assignments, code, lookup)


def _option(wrapper: Wrapper, args: list[Word], index: int) -> tuple[int, Word | None, bool, bool]:
    """How many words an option takes, the code it holds, whether it is known, whether it only looks something up."""
    word = args[index]
    following = args[index + 1] if index + 1 < len(args) else None
    if word.value is None and not word.shape.startswith("--"):
        return 1, None, False, False
    if word.shape.startswith("--"):
        return _long_option(wrapper, word, following)
    for position, letter in enumerate(word.shape[1:], 1):
        attached = position + 1 < len(word.shape)
        if letter == wrapper.code:
            return (
                (1, word.after(position + 1), True, False) if attached else (2, following, following is not None, False)
            )
        if letter in wrapper.values:
            return (1 if attached else 2), None, True, False
        if letter in wrapper.lookups:
            return len(args), None, True, True
        if letter not in wrapper.flags:
            return 1, None, False, False
    return 1, None, True, False


def _long_option(wrapper: Wrapper, word: Word, following: Word | None) -> tuple[int, Word | None, bool, bool]:
    name = word.option[2:]
    if wrapper.code and wrapper.code_name.startswith(name):
        if "=" in word.shape:
            return 1, word.after(len(word.option) + 1), True, False
        return 2, following, following is not None, False
    if name in wrapper.long_flags.split() or ("=" in word.shape and name in wrapper.long_values.split()):
        return 1, None, True, False
    if name in wrapper.long_values.split():
        return 2, None, True, False
    if name in ("help", "version"):
        return 1, None, True, True
    return 1, None, False, False


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
    opened = unwrap(grammar, call.args)
    own = len(call.words) - len(opened.rest)
    judge_options(Call(call.opener, call.script, call.words[:own], call.scene, call.name))
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
    plausible = [
        index
        for index, word in enumerate(words[:_MAX_GUESSES])
        if word.value is not None and not word.option and re.fullmatch(r"[\w./-]+", word.value)
    ]
    if not plausible or call.scene.depth >= _MAX_GUESSED_DEPTH:
        return
    bases = {index: (words[index].value or "").rpartition("/")[2] for index in plausible}
    known = (index for index, name in bases.items() if call.opener.knows(name))
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
    if not _only_looks(opened.rest):
        call.worsen("medium", "runs a command for whatever it is fed")
    feed = call.scene.feed() if call.scene.feed else None
    found = feed is not None and bool(feed.programs) and all(name in _LISTING for name in feed.programs)
    replaced = _replacement(call)
    words = [_filled(word, replaced, built=not found) for word in opened.rest]
    if not replaced and words:
        words.append(unknown_word(start=words[-1].start, end=words[-1].end, built=not found, several=True))
    call.run(words, msgspec.structs.replace(call.scene, feed=None, listed=True))


def _only_looks(words: list[Word]) -> bool:
    """Whether a command only looks, whatever arguments are added to it."""
    return bool(words) and words[0].value in PLAIN and words[0].value not in ("cd", "kill")


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
    loose = built or not shape.startswith(("/", "."))
    return msgspec.structs.replace(word, value=None, shape=shape, built=built or shape != HOLE, loose=loose)


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
            call.write(args[index + 1])
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
    if not _only_looks(words):
        call.worsen("medium", "runs a command for everything it finds", call.args[start - 1])
    call.run(words, msgspec.structs.replace(call.scene, feed=None, listed=True))
    return end


def fd(call: Call) -> None:
    """`fd`: like `find`, with other options."""
    for index, word in enumerate(call.args):
        if word.shape in ("-x", "-X", "--exec", "--exec-batch"):
            words = [_filled(part, "{}", built=False) for part in call.args[index + 1 :]]
            if not _only_looks(words):
                call.worsen("medium", "runs a command for everything it finds", word)
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
