"""Programs that run another program: how their options are written, as a table."""

import msgspec

from skills_runtime.safety.guard.facts import Level


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
