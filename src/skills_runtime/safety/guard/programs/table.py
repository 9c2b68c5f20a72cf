"""Which program is judged by what."""

import re
from collections.abc import Callable

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import by_name
from skills_runtime.safety.guard.programs import files, git, interpreters, remote, shells
from skills_runtime.safety.guard.programs import wrappers as wrapping
from skills_runtime.safety.guard.programs.options import judge_options
from skills_runtime.safety.guard.programs.wrappers import WRAPPERS
from skills_runtime.safety.guard.words import names

Judge = Callable[[Call], None]


def editor(call: Call) -> None:
    """An editor: it can run anything, and often is told to by an option."""
    call.worsen("medium", "opens a program from which others can be started")
    judge_options(call)
    for word in call.args:
        if (word.shape.startswith("+") and len(word.shape) > 1 and not word.shape[1:].isdigit()) or (
            re.match(r"-[a-zA-Z]*[ceSsuw]$|--(?:cmd|eval|execute)", word.shape) and call.name != "nano"
        ):
            call.puzzle("runs a command of an editor", word, "high")


def database(call: Call) -> None:
    """A database's own shell, which can start programs."""
    call.worsen("medium", "changes a database")
    judge_options(call)
    for word in call.args:
        if re.search(
            r"\\!|\.(?:shell|system|load|import|output|once|read)\b|system\s|load_extension|COPY .{0,200}PROGRAM",
            word.shape,
            re.IGNORECASE,
        ):
            call.puzzle("runs a program from a database", word, "high")


def multiplexer(call: Call) -> None:
    """A program that keeps others running where nobody looks."""
    call.worsen("medium", "keeps a program running apart from this")
    if call.operands():
        call.puzzle("runs a command in another terminal", None)
        wrapping.guess(call, call.operands()[1:])


def busy(call: Call) -> None:
    """Programs with options that matter."""
    level, reason = by_name(call.name)
    call.worsen(level, reason)
    judge_options(call)


def unknown(call: Call) -> None:
    """A program that no table knows, and that may be a wrapper of another."""
    call.worsen("medium", "runs a program the guard does not know")
    for index, word in enumerate(call.args[:16]):
        name = (word.value or "").rpartition("/")[2]
        if name in _TELLING:
            call.puzzle("may run another program", word)
            if call.scene.depth < 6:
                call.run(call.args[index:])
            return


def installer(call: Call) -> None:
    """Package managers: installing is running somebody's code."""
    judge_options(call)
    shapes = [word.shape for word in call.args if not word.option]
    verb = shapes[0] if shapes else ""
    if verb in (
        "list",
        "show",
        "freeze",
        "check",
        "search",
        "info",
        "outdated",
        "view",
        "ls",
        "why",
        "audit",
        "policy",
        "tree",
        "metadata",
    ):
        call.worsen("medium" if call.name in ("npm", "yarn", "cargo", "gem") else "low", "asks a package index")
        return
    if verb in ("run", "exec", "x", "dlx", "tool"):
        wrapping.runner(call)
        return
    call.worsen("medium", by_name(call.name)[1])


def loader(call: Call) -> None:
    """The dynamic loader started as a program."""
    call.puzzle("starts a program by way of the loader", None, "high")
    wrapping.guess(call, call.operands())


_TELLING = (
    shells.SHELLS
    | WRAPPERS.keys()
    | interpreters.LANGUAGES.keys()
    | names(
        """
        rm dd env xargs eval find shred mkfs awk git docker podman kubectl chmod chown curl wget nc ncat tar ssh scp
        shutdown reboot halt poweroff crontab systemctl pkill killall umount iptables useradd passwd insmod modprobe
        """
    )
) - names("time script watch bun command exec R builtin swift m4 bc dc")
"""Names that, as an argument of a program nobody knows, mean that it may run them."""

_ROWS: tuple[tuple[str, Judge], ...] = (
    ("rm", files.rm),
    ("dd", files.dd),
    ("chmod", files.chmod),
    ("chown chgrp", files.chown),
    ("kill", files.kill),
    ("tar bsdtar gtar", files.tar),
    ("uniq xxd", files.second_operand),
    ("cp mv ln tee touch truncate mkdir install unlink rmdir split csplit gzip unzip patch mkfifo", files.writers),
    ("sponge rename", files.writers),
    (" ".join(shells.SHELLS), shells.shell),
    ("eval", shells.evaluate),
    ("source .", shells.source),
    ("trap", shells.trap),
    ("alias", shells.alias),
    ("declare typeset export readonly local", shells.declare),
    ("unset", shells.unset),
    ("read mapfile readarray getopts wait printf", shells.setter),
    ("test", shells.test),
    ("shopt", shells.shopt),
    ("umask ulimit", shells.umask),
    ("cd pushd", shells.cd),
    (" ".join(interpreters.LANGUAGES), interpreters.language),
    ("awk gawk mawk nawk", interpreters.awk),
    ("sed gsed", interpreters.sed),
    (" ".join(WRAPPERS), wrapping.wrapper),
    ("env genv", wrapping.env),
    ("xargs gxargs", wrapping.xargs),
    ("find gfind", wrapping.find),
    ("fd fdfind", wrapping.fd),
    ("parallel", wrapping.parallel),
    ("npx bunx hatch pdm tox nox pipenv rye pixi", wrapping.runner),
    ("uv poetry conda mamba npm pnpm yarn pipx pip pip3 bundle gem cargo apt brew", installer),
    ("ssh autossh mosh", remote.ssh),
    ("curl wget", remote.curl),
    ("scp rsync sftp", remote.copy),
    ("nc ncat netcat socat", remote.netcat),
    ("docker podman nerdctl", remote.container),
    ("kubectl oc", remote.cluster),
    ("git", git.git),
    ("vi vim nvim ex ed nano view less more man most", editor),
    ("sqlite3 psql mysql mongo mongosh redis-cli", database),
    ("tmux screen zellij xterm gnome-terminal hyperfine entr start-stop-daemon", multiplexer),
)
_JUDGES: dict[str, Judge] = {name: judge for group, judge in _ROWS for name in group.split()}

_VERSIONED = re.compile(r"((?:python|pypy|perl|ruby|lua|php|node|tclsh|wish|guile)\d?)[\d.]+")


def judge_for(name: str) -> Judge | None:
    """The judge of a program; nothing when its name says all that is known."""
    judge = _JUDGES.get(name)
    if judge is None and (versioned := _VERSIONED.fullmatch(name)):
        judge = _JUDGES.get(versioned[1]) or _JUDGES.get(versioned[1].rstrip("0123456789"))
    if judge is None and re.match(r"ld(?:-linux|-musl|\.so)", name):
        return loader
    return judge
