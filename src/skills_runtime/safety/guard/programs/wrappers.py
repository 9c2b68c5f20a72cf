"""Programs that run another program: the grammar of their options, and the wrapped command."""

import re

import msgspec

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.known_programs import READ_ONLY_PROGRAMS, assess_variable
from skills_runtime.safety.guard.programs.options import assess_options
from skills_runtime.safety.guard.words import PLACEHOLDER, Word, names, unknown_word


class Wrapper(msgspec.Struct, frozen=True):
    """How to find the command after a program's own options and operands."""

    flags: str = ""
    """Short options without a value."""
    values: str = ""
    """Short options with a value."""
    long_flags: str = ""
    long_values: str = ""
    operands: int = 0
    """Number of operands before the command."""
    level: Level = "low"
    reason: str = ""
    assigns: bool = False
    """Whether `NAME=value` may precede the command."""
    code: str = ""
    """The short option whose value is shell code."""
    code_name: str = "command"
    """The long form of that option."""
    line: bool = False
    """Whether the words are joined and passed to a shell."""
    lookups: str = ""
    """Short options with which nothing is run."""


_AS_OTHER_USER = "runs a command as another user"
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
        reason=_AS_OTHER_USER,
        assigns=True,
    ),
    "doas": Wrapper("Lns", "Cau", level="high", reason=_AS_OTHER_USER),
    "pkexec": Wrapper("", "", "disable-internal-agent keep-cwd", "user", level="high", reason=_AS_OTHER_USER),
    "su": Wrapper(
        "lmpfPhV-",
        "gGsTw",
        "login preserve-environment fast pty",
        "group supp-group shell whitelist-environment",
        operands=1,
        level="high",
        reason=_AS_OTHER_USER,
        code="c",
    ),
    "runuser": Wrapper(
        "lmpfPhV-",
        "ugGsTw",
        "login preserve-environment fast pty",
        "user group supp-group shell",
        level="high",
        reason=_AS_OTHER_USER,
        code="c",
    ),
    "gosu": Wrapper(operands=1, level="high", reason=_AS_OTHER_USER),
    "su-exec": Wrapper(operands=1, level="high", reason=_AS_OTHER_USER),
    "setpriv": Wrapper(
        "d",
        "",
        "clear-groups no-new-privs nnp keep-groups init-groups",
        "reuid regid ruid euid rgid egid groups inh-caps ambient-caps bounding-set securebits pdeathsig",
        level="high",
        reason=_AS_OTHER_USER,
    ),
    "sg": Wrapper(operands=1, level="high", reason=_AS_OTHER_USER, code="c"),
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
    "capsh": Wrapper(level="high", reason=_AS_OTHER_USER),
}


def is_wrapper(name: str) -> bool:
    """Return whether a program runs the command in its arguments, which is assessed itself."""
    return name in WRAPPERS or name in ("env", "genv", "xargs", "gxargs")


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


def is_assignment(word: Word) -> bool:
    """Return whether a word before a command sets a variable."""
    return bool(_ASSIGNMENT.match(word.shape))


class Unwrapped(msgspec.Struct, frozen=True):
    """The part of a command line after a wrapper's own words."""

    command: list[Word]
    assignments: list[Word] = []
    code: Word | None = None
    nothing_runs: bool = False
    understood: bool = True


def unwrap(wrapper: Wrapper, args: list[Word]) -> Unwrapped:
    """Find the command by the wrapper's grammar; unknown options are reported as unclear."""
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
            consumed, value, understood, only_looks_up = _option(wrapper, args, index)
            if not understood:
                return Unwrapped(args[index:], assignments, understood=False)
            code, lookup, index = value or code, lookup or only_looks_up, index + consumed
        elif wrapper.assigns and "=" in word.shape:
            assignments.append(word)
            index += 1
        elif word.may_split or word.may_be_option or operands == 0:
            break
        else:
            operands -= 1
            index += 1
    return Unwrapped(args[index:], assignments, code, lookup)


def _option(wrapper: Wrapper, args: list[Word], index: int) -> tuple[int, Word | None, bool, bool]:
    """Return how many words an option takes, its code, whether it is known, and whether it only looks something up."""
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
                (1, word.suffix(position + 1), True, False)
                if attached
                else (2, following, following is not None, False)
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
            return 1, word.suffix(len(word.option) + 1), True, False
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
"""These print names they found, not arbitrary text."""


def assess_wrapper(call: Call) -> None:
    """Assess any program in `WRAPPERS`."""
    grammar = WRAPPERS[call.name]
    if grammar.level != "low":
        call.add_risk(grammar.level, grammar.reason)
    unwrapped = unwrap(grammar, call.args)
    own = len(call.words) - len(unwrapped.command)
    assess_options(Call(call.reader, call.script, call.words[:own], call.context, call.name))
    assess_assignments(call, unwrapped.assignments)
    if not unwrapped.understood:
        call.mark_unclear("the options of a wrapper are not understood", unwrapped.command[0])
        guess_command(call, unwrapped.command[1:])
    elif unwrapped.code is not None:
        call.read_code(unwrapped.code)
    elif unwrapped.nothing_runs:
        return
    elif grammar.line and not call.has_short("x") and not call.has_long("exec"):
        call.read_joined(unwrapped.command)
    elif unwrapped.command:
        call.read_wrapped(unwrapped.command)
    elif call.context.unseen_arguments:
        call.mark_unclear("runs whatever it is given", None, "high")


def assess_assignments(call: Call, words: list[Word]) -> None:
    """Assess variables that are set for one command."""
    for word in words:
        name, _, value = word.shape.partition("=")
        call.add_assessment(assess_variable(name, None if word.value is None else value), word)


def guess_command(call: Call, words: list[Word]) -> None:
    """Assess the first known program name in words that are not understood."""
    plausible = [
        index
        for index, word in enumerate(words[:_MAX_GUESSES])
        if word.value is not None and not word.option and re.fullmatch(r"[\w./-]+", word.value)
    ]
    if not plausible or call.context.depth >= _MAX_GUESSED_DEPTH:
        return
    bases = {index: (words[index].value or "").rpartition("/")[2] for index in plausible}
    candidates = (index for index, name in bases.items() if call.reader.is_known_program(name))
    call.read_wrapped(words[next(candidates, plausible[0]) :])


def assess_env(call: Call) -> None:
    """Assess `env`: variables, then a command; alone it prints all variables."""
    unwrapped = unwrap(_ENV, call.args)
    assess_assignments(call, unwrapped.assignments)
    if not unwrapped.understood:
        call.mark_unclear("the options of a wrapper are not understood", unwrapped.command[0])
        guess_command(call, unwrapped.command[1:])
    elif unwrapped.code is not None:
        call.mark_unclear("puts a command together from one text", unwrapped.code)
        call.read_joined([unwrapped.code, *unwrapped.assignments, *unwrapped.command])
    elif unwrapped.command:
        call.read_wrapped(unwrapped.command)
    elif call.context.unseen_arguments:
        call.mark_unclear("runs whatever it is given", None, "high")
    elif not unwrapped.nothing_runs:
        call.add_risk("medium", "shows all variables")


def assess_xargs(call: Call) -> None:
    """Assess `xargs`: a command with unseen arguments."""
    unwrapped = unwrap(_XARGS, call.args)
    if not unwrapped.understood:
        call.mark_unclear("the options of a wrapper are not understood", unwrapped.command[0])
        guess_command(call, unwrapped.command[1:])
        return
    if unwrapped.nothing_runs:
        return
    if not _only_reads(unwrapped.command):
        call.add_risk("medium", "runs a command for whatever it is fed")
    stdin = call.context.stdin() if call.context.stdin else None
    lists_names = stdin is not None and bool(stdin.programs) and all(name in _LISTING for name in stdin.programs)
    replaced = _replacement(call)
    words = [_fill_placeholder(word, replaced, computed=not lists_names) for word in unwrapped.command]
    if not replaced and words:
        words.append(unknown_word(start=words[-1].start, end=words[-1].end, computed=not lists_names, may_split=True))
    call.read_wrapped(words, msgspec.structs.replace(call.context, stdin=None, unseen_arguments=True))


def _only_reads(words: list[Word]) -> bool:
    """Return whether a command only reads, whatever arguments are added."""
    return bool(words) and words[0].value in READ_ONLY_PROGRAMS and words[0].value not in ("cd", "kill")


def _replacement(call: Call) -> str:
    for index, word in enumerate(call.args):
        match = re.match(r"-[0rtxpo]*I(.*)|--replace(?:=(.*))?$|-[0rtxpo]*i(.*)", word.shape)
        if match and match[1] is not None:
            return match[1] or (call.args[index + 1].shape if index + 1 < len(call.args) else "{}")
        if match:
            return match[2] or match[3] or "{}"
    return ""


def _fill_placeholder(word: Word, replaced: str, *, computed: bool) -> Word:
    if not replaced or replaced not in word.shape:
        return word
    shape = word.shape.replace(replaced, PLACEHOLDER)
    loose = computed or not shape.startswith(("/", "."))
    return msgspec.structs.replace(
        word, value=None, shape=shape, computed=computed or shape != PLACEHOLDER, may_be_option=loose
    )


def assess_find(call: Call) -> None:
    """Assess `find`: it may delete what it finds, write lists, or run commands."""
    index, args = 0, call.args
    while index < len(args):
        word = args[index]
        name = word.shape
        if word.computed:
            call.mark_unclear("an argument is only known when it runs", word)
        elif name == "-delete":
            call.add_risk("high", "deletes everything it finds", word)
        elif name in ("-fprint", "-fprint0", "-fprintf", "-fls") and index + 1 < len(args):
            call.add_write(args[index + 1])
        elif name == "-files0-from":
            call.add_risk("medium", "takes its options from a file", word)
        elif name in ("-exec", "-execdir", "-ok", "-okdir"):
            index = _assess_exec(call, index + 1)
        index += 1


def _assess_exec(call: Call, start: int) -> int:
    """Assess the command of one `-exec`; return the index of its end."""
    end = start
    while end < len(call.args) and call.args[end].shape != ";":
        if call.args[end].shape == "+" and end > start and call.args[end - 1].shape == "{}":
            break
        end += 1
    if end == len(call.args):
        call.mark_unclear("a command has no end", call.args[start - 1])
    words = [_fill_placeholder(word, "{}", computed=False) for word in call.args[start:end]]
    if not _only_reads(words):
        call.add_risk("medium", "runs a command for everything it finds", call.args[start - 1])
    call.read_wrapped(words, msgspec.structs.replace(call.context, stdin=None, unseen_arguments=True))
    return end


def assess_fd(call: Call) -> None:
    """Assess `fd`: like `find`, with other options."""
    for index, word in enumerate(call.args):
        if word.shape in ("-x", "-X", "--exec", "--exec-batch"):
            words = [_fill_placeholder(part, "{}", computed=False) for part in call.args[index + 1 :]]
            if not _only_reads(words):
                call.add_risk("medium", "runs a command for everything it finds", word)
            call.read_wrapped(words, msgspec.structs.replace(call.context, stdin=None, unseen_arguments=True))
            return
        if re.match(r"-[a-zA-Z]*[xX]|--exec", word.shape):
            call.mark_unclear("the options of a wrapper are not understood", word, "high")


def assess_parallel(call: Call) -> None:
    """Assess `parallel`: a shell line for each of many values."""
    args = call.args
    end = next((index for index, word in enumerate(args) if re.match(r":{3,4}\+?$", word.shape)), len(args))
    start = 0
    while start < end and args[start].option:
        start += (
            2 if re.fullmatch(r"-[jPnNLIXSa]|--(?:jobs|delay|timeout|joblog|tmpdir|colsep)", args[start].shape) else 1
        )
    call.mark_unclear("runs a line for each of many values", None)
    words = args[start:end]
    if words:
        call.read_joined(words)
        guess_command(call, words)
    else:
        call.mark_unclear("runs what it is fed", None, "high")
        for word in args[end + 1 :]:
            call.read_code(word)


def assess_runner(call: Call) -> None:
    """Assess `uv run` and similar programs, which run a command in a project's environment."""
    call.add_risk("medium", "runs what a project's files say")
    verbs = {"run", "exec", "x", "dlx", "tool"} if call.name not in ("npx", "bunx", "pipx-run") else set[str]()
    index = 0
    while index < len(call.args) and (call.args[index].option or call.args[index].shape in verbs):
        index += 1
    ran = not verbs or any(word.shape in verbs for word in call.args[:index])
    if ran and call.name not in ("npm", "yarn", "pnpm", "bun", "cargo", "go") and index < len(call.args):
        call.read_wrapped(call.args[index:])
    elif ran:
        guess_command(call, [word for word in call.args[index + 1 :] if word.shape != "--"][:0])
