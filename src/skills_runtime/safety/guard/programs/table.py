"""The table of assessors."""

import re
from collections.abc import Callable

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import assess_by_name
from skills_runtime.safety.guard.programs import files, git, interpreters, remote, shells
from skills_runtime.safety.guard.programs import wrappers as wrapping
from skills_runtime.safety.guard.programs.options import assess_options
from skills_runtime.safety.guard.programs.wrappers import WRAPPERS
from skills_runtime.safety.guard.words import names

Assessor = Callable[[Call], None]


def assess_editor(call: Call) -> None:
    """Assess an editor, which can run programs, often through an option."""
    call.add_risk("medium", "opens a program from which others can be started")
    assess_options(call)
    for word in call.args:
        if (word.shape.startswith("+") and len(word.shape) > 1 and not word.shape[1:].isdigit()) or (
            re.match(r"-[a-zA-Z]*[ceSsuw]$|--(?:cmd|eval|execute)", word.shape) and call.name != "nano"
        ):
            call.mark_unclear("runs a command of an editor", word, "high")


def assess_database(call: Call) -> None:
    """Assess a database shell, which can start programs."""
    call.add_risk("medium", "changes a database")
    assess_options(call)
    for word in call.args:
        if re.search(
            r"\\!|\.(?:shell|system|load|import|output|once|read)\b|system\s|load_extension|COPY .{0,200}PROGRAM",
            word.shape,
            re.IGNORECASE,
        ):
            call.mark_unclear("runs a program from a database", word, "high")


def assess_multiplexer(call: Call) -> None:
    """Assess a terminal multiplexer, whose programs keep running."""
    call.add_risk("medium", "keeps a program running apart from this")
    if call.operands():
        call.mark_unclear("runs a command in another terminal", None)
        wrapping.guess_command(call, call.operands()[1:])


def assess_known(call: Call) -> None:
    """Assess a known program by its name and options."""
    level, reason = assess_by_name(call.name)
    call.add_risk(level, reason)
    assess_options(call)


def assess_unknown(call: Call) -> None:
    """Assess a program that no table lists; it may wrap another program."""
    call.add_risk("medium", "runs a program the guard does not know")
    for index, word in enumerate(call.args[:16]):
        name = (word.value or "").rpartition("/")[2]
        if name in _REVEALING_NAMES:
            call.mark_unclear("may run another program", word)
            if call.context.depth < 6:
                call.read_wrapped(call.args[index:])
            return


def assess_installer(call: Call) -> None:
    """Assess package managers: installing may run code of the package."""
    assess_options(call)
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
        call.add_risk("medium" if call.name in ("npm", "yarn", "cargo", "gem") else "low", "asks a package index")
        return
    if verb in ("run", "exec", "x", "dlx", "tool"):
        wrapping.assess_runner(call)
        return
    call.add_risk("medium", assess_by_name(call.name)[1])


def assess_loader(call: Call) -> None:
    """Assess the dynamic loader started as a program."""
    call.mark_unclear("starts a program by way of the loader", None, "high")
    wrapping.guess_command(call, call.operands())


# As an argument of an unknown program, these mean that it may run them.
_REVEALING_NAMES = (
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

_ROWS: tuple[tuple[str, Assessor], ...] = (
    ("rm", files.assess_rm),
    ("dd", files.assess_dd),
    ("chmod", files.assess_chmod),
    ("chown chgrp", files.assess_chown),
    ("kill", files.assess_kill),
    ("tar bsdtar gtar", files.assess_tar),
    ("uniq xxd", files.assess_second_operand),
    (
        "cp mv ln tee touch truncate mkdir install unlink rmdir split csplit gzip unzip patch mkfifo",
        files.assess_writers,
    ),
    ("sponge rename", files.assess_writers),
    (" ".join(shells.SHELLS), shells.assess_shell),
    ("eval", shells.assess_eval),
    ("source .", shells.assess_source),
    ("trap", shells.assess_trap),
    ("alias", shells.assess_alias),
    ("declare typeset export readonly local", shells.assess_declare),
    ("unset", shells.assess_unset),
    ("read mapfile readarray getopts wait printf", shells.assess_variable_setter),
    ("test", shells.assess_test),
    ("shopt", shells.assess_shopt),
    ("umask ulimit", shells.assess_umask),
    ("cd pushd", shells.assess_cd),
    (" ".join(interpreters.LANGUAGES), interpreters.assess_interpreter),
    ("awk gawk mawk nawk", interpreters.assess_awk),
    ("sed gsed", interpreters.assess_sed),
    (" ".join(WRAPPERS), wrapping.assess_wrapper),
    ("env genv", wrapping.assess_env),
    ("xargs gxargs", wrapping.assess_xargs),
    ("find gfind", wrapping.assess_find),
    ("fd fdfind", wrapping.assess_fd),
    ("parallel", wrapping.assess_parallel),
    ("npx bunx hatch pdm tox nox pipenv rye pixi", wrapping.assess_runner),
    ("uv poetry conda mamba npm pnpm yarn pipx pip pip3 bundle gem cargo apt brew", assess_installer),
    ("ssh autossh mosh", remote.assess_ssh),
    ("curl wget", remote.assess_curl),
    ("scp rsync sftp", remote.assess_remote_copy),
    ("nc ncat netcat socat", remote.assess_netcat),
    ("docker podman nerdctl", remote.assess_container),
    ("kubectl oc", remote.assess_cluster),
    ("git", git.assess_git),
    ("vi vim nvim ex ed nano view less more man most", assess_editor),
    ("sqlite3 psql mysql mongo mongosh redis-cli", assess_database),
    ("tmux screen zellij xterm gnome-terminal hyperfine entr start-stop-daemon", assess_multiplexer),
)
_ASSESSORS: dict[str, Assessor] = {name: assessor for group, assessor in _ROWS for name in group.split()}

_VERSIONED = re.compile(r"((?:python|pypy|perl|ruby|lua|php|node|tclsh|wish|guile)\d?)[\d.]+")


def find_assessor(name: str) -> Assessor | None:
    """Return the assessor of a program; None when only its name is listed."""
    assessor = _ASSESSORS.get(name)
    if assessor is None and (versioned := _VERSIONED.fullmatch(name)):
        assessor = _ASSESSORS.get(versioned[1]) or _ASSESSORS.get(versioned[1].rstrip("0123456789"))
    if assessor is None and re.match(r"ld(?:-linux|-musl|\.so)", name):
        return assess_loader
    return assessor
