"""Programs that run another program: how their options are written, as a table."""

import re

import msgspec

from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.words import Word


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
    line: bool = False
    """Whether the rest is put together and given to a shell."""
    lookups: str = ""
    """Short options with which nothing is run."""


_AS = "runs a command as somebody else"
_ELSEWHERE = "runs a command in another environment"

WRAPPERS: dict[str, Wrapper] = {
    "timeout": Wrapper("fpv", "ks", "foreground preserve-status verbose", "kill-after signal", 1),
    "gtimeout": Wrapper("fpv", "ks", "foreground preserve-status verbose", "kill-after signal", 1),
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
    "taskset": Wrapper("acp", "", "all-tasks cpu-list pid", "", 1),
    "chrt": Wrapper("abdfimorvR", "TPDp", "all-tasks batch deadline fifo idle other rr reset-on-fork verbose", "", 1),
    "numactl": Wrapper("labs", "iNCmp", "all localalloc", "interleave cpunodebind physcpubind membind preferred"),
    "choom": Wrapper("", "np", "", "adjust pid"),
    "prlimit": Wrapper(),
    "setarch": Wrapper("BFILRSTXZ3v", "", "addr-no-randomize verbose", "", 1),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "flock": Wrapper("sxenuoFv", "wE", "shared exclusive unlock nonblock nb close no-fork verbose",
                     "timeout wait conflict-exit-code", 1, code="c"),
    "watch": Wrapper("bdegctpqrwx", "n", "beep color differences errexit chgexit no-title precise equexit no-wrap exec",
                     "interval", line=True),
    "script": Wrapper("aefqc", "EIOBTmo", "append return flush force quiet", "echo log-in log-out log-io log-timing", 0,
                      "medium", "records a terminal session", code="c"),
    "strace": Wrapper("fFqvtTikyrcwCDzZdnxY", "eoOpsSauEPIbXU", "", "", 0, "medium", "watches another program", assigns=True),
    "ltrace": Wrapper("fFqvtTikrcCSbLh", "eoplsnauxwDA", "", "", 0, "medium", "watches another program"),
    "valgrind": Wrapper("vqdh", "", "", "", 0),
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
    "sudo": Wrapper("ABbEeHiKklnPSsVv", "CDghpRrTtUu", "askpass background preserve-env set-home login non-interactive stdin shell"
                    " reset-timestamp remove-timestamp list validate edit", "close-from chdir group host prompt chroot role"
                    " command-timeout type other-user user", 0, "high", _AS, assigns=True),
    "doas": Wrapper("Lns", "Cau", level="high", reason=_AS),
    "pkexec": Wrapper("", "", "disable-internal-agent keep-cwd", "user", 0, "high", _AS),
    "su": Wrapper("lmpfPhV-", "gGsTw", "login preserve-environment fast pty", "group supp-group shell whitelist-environment",
                  1, "high", _AS, code="c"),
    "runuser": Wrapper("lmpfPhV-", "ugGsTw", "login preserve-environment fast pty", "user group supp-group shell", 0,
                       "high", _AS, code="c"),
    "gosu": Wrapper("", "", "", "", 1, "high", _AS),
    "su-exec": Wrapper("", "", "", "", 1, "high", _AS),
    "setpriv": Wrapper("d", "", "clear-groups no-new-privs nnp keep-groups init-groups", "reuid regid ruid euid rgid egid"
                       " groups inh-caps ambient-caps bounding-set securebits pdeathsig", 0, "high", _AS),
    "sg": Wrapper("", "", "", "", 1, "high", _AS, code="c"),
    "chroot": Wrapper("", "", "skip-chdir", "userspec groups", 1, "high", _ELSEWHERE),
    "unshare": Wrapper("imnpuUCTfrc", "SGRw", "ipc mount net pid uts user cgroup time fork map-root-user map-current-user"
                       " kill-child mount-proc keep-caps", "setuid setgid root wd propagation map-user map-group",
                       0, "high", _ELSEWHERE),
    "nsenter": Wrapper("amuinpCUTFZ", "tSGrw", "all mount uts ipc net pid cgroup user time no-fork follow-context",
                       "target setuid setgid root wd", 0, "high", _ELSEWHERE),
    "systemd-run": Wrapper("dGtPSqrhH", "upEM", "user system scope pty pipe shell quiet wait collect remain-after-exit no-block"
                           " no-ask-password same-dir", "unit property description slice service-type uid gid nice"
                           " working-directory setenv on-active on-boot on-calendar host machine", 0,
                           "high", "runs a command outside of this session"),
    "bwrap": Wrapper(level="high", reason=_ELSEWHERE),
    "proot": Wrapper(level="high", reason=_ELSEWHERE),
    "capsh": Wrapper(level="high", reason=_AS),
}  # fmt: skip

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
            break
        if word.option or (word.shape == "-" and "-" in wrapper.flags):
            used, value, known, looks = _option(wrapper, args, index)
            if not known:
                return Unwrapped(args[index:], assignments, understood=False)
            code, lookup, index = value or code, lookup or looks, index + used
        elif wrapper.assigns and is_assignment(word):
            assignments.append(word)
            index += 1
        elif word.several or operands == 0:
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
    if wrapper.code and "command".startswith(name):
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
