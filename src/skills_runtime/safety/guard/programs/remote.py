"""Programs that reach other machines or containers."""

import re

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import MEDIUM
from skills_runtime.safety.guard.paths import assess_read
from skills_runtime.safety.guard.programs.files import assess_written
from skills_runtime.safety.guard.programs.options import assess_options, option_values
from skills_runtime.safety.guard.programs.wrappers import Wrapper, unwrap
from skills_runtime.safety.guard.words import PLACEHOLDER, Word, names

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


def assess_ssh(call: Call) -> None:
    """Assess `ssh`: its command runs on another machine."""
    call.add_risk("medium", "runs something on another machine")
    assess_options(call)
    own_options = unwrap(_SSH, call.args)
    record_host(call, own_options.command[0] if own_options.command and own_options.understood else None)
    unwrapped = unwrap(_SSH, own_options.command[1:]) if own_options.understood else own_options
    if not unwrapped.understood:
        call.mark_unclear("the options of a wrapper are not understood", unwrapped.command[0])
    elif unwrapped.command:
        call.mark_unclear("what runs on another machine is not known here")
        call.read_joined(unwrapped.command)
    elif call.context.stdin is not None:
        call.mark_unclear("runs what it is fed on another machine", None, "high")


def record_host(call: Call, word: Word | None) -> None:
    """Record the host that an operand such as `user@host:path` names."""
    if word is not None and word.value is not None:
        host = word.value.rpartition("@")[2].split(":", 1)[0]
        if re.fullmatch(r"[\w.-]+", host):
            call.reader.findings.hosts[host] = None


def assess_curl(call: Call) -> None:
    """Assess `curl` and `wget`: downloads, and uploads named by an option."""
    call.add_risk("medium", MEDIUM[call.name])
    assess_options(call)
    for option in _UNPACKED if call.name == "curl" else ():
        for value in option_values(call, option):
            if re.search(r"(?:^|=)[@<]|^\w*@", value.shape) or PLACEHOLDER in value.shape:
                call.add_risk("high", "sends a file over the network", value)
    if call.has_short("T") and call.name == "curl":
        call.add_risk("high", "sends a file over the network")
    for word in call.args:
        if word.value and word.value.startswith("file:"):
            call.add_assessment(assess_read(word.value.removeprefix("file:").removeprefix("//")), word)


def assess_remote_copy(call: Call) -> None:
    """Assess `scp`, `rsync`, `sftp`: copies from or to another machine."""
    call.add_risk("medium", MEDIUM[call.name])
    assess_options(call)
    operands = call.operands()
    for word in operands:
        if re.match(r"(?:[\w.-]+@)?[\w.-]+:", word.shape):
            record_host(call, word)
    for word in operands[-1:]:
        if ":" not in word.shape:
            assess_written(call, word)


def assess_netcat(call: Call) -> None:
    """Assess `nc` and similar programs: a connection that can carry anything."""
    call.add_risk("medium", "opens a connection that can carry anything")
    if (
        call.has_short("eclU")
        or call.has_long("exec", "sh-exec", "listen")
        or call.context.stdin is not None
        or call.name == "socat"
    ):
        call.add_risk("high", "opens a connection that can carry anything")
    for word in call.args:
        if word.value and re.search(r"(?:EXEC|SYSTEM|SHELL):", word.value, re.IGNORECASE):
            call.mark_unclear("runs a program for every client that connects", word, "high")
    for word in call.operands()[:1]:
        record_host(call, word)


_MOUNTS = re.compile(
    r"^(?:type=bind,)?(?:source=|src=)?(/(?:etc|usr|bin|root|home|var|proc|sys|dev|boot)?/?|~/?|"
    + PLACEHOLDER
    + r")(?::|,|$)"
)
_CONTAINER_LONG = names(
    """
    name volume mount env user workdir network entrypoint publish env-file label platform memory cpus hostname
    add-host restart pull log-driver
    """
)
"""Long options with a separate value."""


def assess_container(call: Call) -> None:
    """Assess `docker` and similar programs: a container can bypass every sandbox."""
    call.add_risk("medium", "runs containers")
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
            call.add_risk("high", "takes down the walls of a container", word)
        elif (
            _MOUNTS.match(re.sub(r"^-v(?==?/)", "", shape)) and (":" in shape or "=" in shape)
        ) or "docker.sock" in shape:
            call.add_risk("high", "gives a container the machine's own files", word)
    if verb in ("rm", "rmi", "prune", "kill", "stop") or "prune" in shapes:
        call.add_risk(
            "high" if "prune" in shapes or "volume" in shapes else "medium", "removes containers or their data"
        )
    if verb in ("run", "exec", "create"):
        assess_container_command(call, shapes.index(verb) + 1)


def assess_container_command(call: Call, index: int) -> None:
    """Assess the command inside a container."""
    args = call.args
    while index < len(args) and args[index].option:
        shape = args[index].shape
        lone = shape[2:] in _CONTAINER_LONG or re.fullmatch(r"-[a-zA-Z]*[veplwuhmcab]", shape)
        if shape.startswith("--entrypoint"):
            call.mark_unclear("runs another program inside of a container", args[index])
        index += 2 if lone and not re.fullmatch(r"-[itd]+", shape) else 1
    if command := args[index + 1 :]:
        call.read_wrapped(command)


def assess_cluster(call: Call) -> None:
    """Assess `kubectl` and similar programs, which reach other machines through a cluster."""
    call.add_risk("medium", "reaches a cluster")
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
        call.add_risk("high" if verb in ("delete", "drain") else "medium", "changes a cluster")
    if "secret" in shapes or "secrets" in shapes:
        call.add_risk("high", "reads keys or secrets")
    if verb == "exec":
        if "--" in shapes:
            call.read_wrapped(call.args[shapes.index("--") + 1 :])
        else:
            call.mark_unclear("runs a command inside of a container", None)
