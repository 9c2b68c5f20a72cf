"""Programs that reach other machines or containers."""

import re

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import MEDIUM
from skills_runtime.safety.guard.paths import reading
from skills_runtime.safety.guard.programs.files import judge_written
from skills_runtime.safety.guard.programs.options import judge_options, values_of
from skills_runtime.safety.guard.programs.wrappers import Wrapper, unwrap
from skills_runtime.safety.guard.words import HOLE, Word, names

_SSH = Wrapper("46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOoPpQRSWw")
_UNPACKED = (
    "--data",
    "--data-binary",
    "--data-ascii",
    "--data-urlencode",
    "--json",
    "--form",
    "-d",
    "-F",
    "--form-string",
)


def ssh(call: Call) -> None:
    """`ssh`: what it runs, it runs on another machine."""
    call.worsen("medium", "runs something on another machine")
    judge_options(call)
    before = unwrap(_SSH, call.args)
    note_host(call, before.rest[0] if before.rest and before.understood else None)
    opened = unwrap(_SSH, before.rest[1:]) if before.understood else before
    if not opened.understood:
        call.puzzle("the options of a wrapper are not understood", opened.rest[0])
    elif opened.rest:
        call.puzzle("what runs on another machine is not known here")
        call.joined(opened.rest)
    elif call.scene.feed is not None:
        call.puzzle("runs what it is fed on another machine", None, "high")


def note_host(call: Call, word: Word | None) -> None:
    """Take note of the host that an operand such as `user@host:path` names."""
    if word is not None and word.value is not None:
        host = word.value.rpartition("@")[2].split(":", 1)[0]
        if re.fullmatch(r"[\w.-]+", host):
            call.opener.found.hosts[host] = None


def curl(call: Call) -> None:
    """`curl` and `wget`: fetching, and sending what is named by an option."""
    call.worsen("medium", MEDIUM[call.name])
    judge_options(call)
    for option in _UNPACKED if call.name == "curl" else ():
        for value in values_of(call, option):
            if re.search(r"(?:^|=)[@<]|^\w*@", value.shape) or HOLE in value.shape:
                call.worsen("high", "sends a file over the network", value)
    if call.short("T") and call.name == "curl":
        call.worsen("high", "sends a file over the network")
    for word in call.args:
        if word.value and word.value.startswith("file:"):
            call.judged(reading(word.value.removeprefix("file:").removeprefix("//")), word)


def copy(call: Call) -> None:
    """`scp`, `rsync`, `sftp`: files to or from another machine."""
    call.worsen("medium", MEDIUM[call.name])
    judge_options(call)
    operands = call.operands()
    for word in operands:
        if re.match(r"(?:[\w.-]+@)?[\w.-]+:", word.shape):
            note_host(call, word)
    for word in operands[-1:]:
        if ":" not in word.shape:
            judge_written(call, word)


def netcat(call: Call) -> None:
    """`nc` and its like: a connection that can carry anything."""
    call.worsen("medium", "opens a connection that can carry anything")
    if (
        call.short("eclU")
        or call.has("exec", "sh-exec", "listen")
        or call.scene.feed is not None
        or call.name == "socat"
    ):
        call.worsen("high", "opens a connection that can carry anything")
    for word in call.args:
        if word.value and re.search(r"(?:EXEC|SYSTEM|SHELL):", word.value, re.IGNORECASE):
            call.puzzle("runs a program for whoever connects", word, "high")
    for word in call.operands()[:1]:
        note_host(call, word)


_MOUNTS = re.compile(
    r"^(?:type=bind,)?(?:source=|src=)?(/(?:etc|usr|bin|root|home|var|proc|sys|dev|boot)?/?|~/?|" + HOLE + r")(?::|,|$)"
)
_CONTAINER_LONG = names(
    """
    name volume mount env user workdir network entrypoint publish env-file label platform memory cpus hostname
    add-host restart pull log-driver
    """
)
"""Long options with a value that follows."""


def container(call: Call) -> None:
    """`docker` and its like: a container can be a way around every fence."""
    call.worsen("medium", "runs containers")
    shapes = [word.shape for word in call.args]
    verb = next((shape for shape in shapes if not shape.startswith("-")), "")
    if verb in (
        "ps",
        "images",
        "version",
        "info",
        "logs",
        "inspect",
        "stats",
        "top",
        "port",
        "history",
        "diff",
        "search",
    ):
        return
    for word in call.args:
        shape = word.shape.split("=", 1)[1] if word.shape.startswith(("--volume=", "--mount=")) else word.shape
        if re.match(
            r"--privileged|--cap-add|--(?:pid|net|network|ipc|uts|userns|cgroupns)=host|--device|--security-opt",
            word.shape,
        ):
            call.worsen("high", "takes down the walls of a container", word)
        elif (
            _MOUNTS.match(re.sub(r"^-v(?==?/)", "", shape)) and (":" in shape or "=" in shape)
        ) or "docker.sock" in shape:
            call.worsen("high", "gives a container the machine's own files", word)
    if verb in ("rm", "rmi", "prune", "kill", "stop") or "prune" in shapes:
        call.worsen("high" if "prune" in shapes or "volume" in shapes else "medium", "removes containers or their data")
    if verb in ("run", "exec", "create"):
        inside(call, shapes.index(verb) + 1)


def inside(call: Call, index: int) -> None:
    """Judge the command that runs inside of a container."""
    args = call.args
    while index < len(args) and args[index].option:
        shape = args[index].shape
        lone = shape[2:] in _CONTAINER_LONG or re.fullmatch(r"-[a-zA-Z]*[veplwuhmcab]", shape)
        if shape.startswith("--entrypoint"):
            call.puzzle("runs another program inside of a container", args[index])
        index += 2 if lone and not re.fullmatch(r"-[itd]+", shape) else 1
    if rest := args[index + 1 :]:
        call.run(rest)


def cluster(call: Call) -> None:
    """`kubectl` and its like: other machines, by way of a cluster."""
    call.worsen("medium", "reaches a cluster")
    shapes = [word.shape for word in call.args]
    verb = next((shape for shape in shapes if not shape.startswith("-")), "")
    if verb in (
        "delete",
        "drain",
        "apply",
        "replace",
        "patch",
        "edit",
        "scale",
        "cordon",
        "taint",
        "create",
        "run",
        "cp",
        "proxy",
        "port-forward",
    ):
        call.worsen("high" if verb in ("delete", "drain") else "medium", "changes a cluster")
    if "secret" in shapes or "secrets" in shapes:
        call.worsen("high", "reads keys or secrets")
    if verb == "exec":
        if "--" in shapes:
            call.run(call.args[shapes.index("--") + 1 :])
        else:
            call.puzzle("runs a command inside of a container", None)
