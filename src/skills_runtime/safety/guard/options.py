"""Options that turn a harmless program into a dangerous one, as tables."""

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.paths import writing
from skills_runtime.safety.guard.words import Word

_RUNS = "has another program run by an option"
_CODE = "loads code named by an option"
_SENDS = "sends a file over the network"
_CONFIG = "takes its options from a file"

RISKY: dict[str, tuple[tuple[str, Level, str], ...]] = {
    "rg": (("--pre", "high", _RUNS), ("--hostname-bin", "high", _RUNS)),
    "ag": (("--pager", "high", _RUNS),),
    "ack": (("--pager", "high", _RUNS), ("--ackrc", "high", _CONFIG)),
    "bat": (("--pager", "high", _RUNS),),
    "sort": (("--compress-program", "high", _RUNS),),
    "split": (("--filter", "high", _RUNS),),
    "tar": (
        ("--checkpoint-action", "high", _RUNS),
        ("--to-command", "high", _RUNS),
        ("--use-compress-program", "high", _RUNS),
        ("--info-script", "high", _RUNS),
        ("--new-volume-script", "high", _RUNS),
        ("--rsh-command", "high", _RUNS),
        ("--rmt-command", "high", _RUNS),
        ("-I", "high", _RUNS),
        ("-F", "high", _RUNS),
    ),
    "zip": (("-TT", "high", _RUNS), ("--unzip-command", "high", _RUNS)),
    "rsync": (("--rsh", "high", _RUNS), ("-e", "high", _RUNS), ("--rsync-path", "high", _RUNS), ("--delete", "high", "deletes what the source does not have")),
    "scp": (("-S", "high", _RUNS), ("-o", "high", _RUNS), ("-F", "high", _CONFIG), ("-J", "medium", _RUNS)),
    "sftp": (("-S", "high", _RUNS), ("-o", "high", _RUNS), ("-b", "medium", _CONFIG), ("-D", "high", _RUNS)),
    "ssh": (("-o", "high", _RUNS), ("-F", "high", _CONFIG), ("-R", "high", "opens a way into this machine"), ("-D", "high", "opens a way into another network"), ("-I", "high", _CODE)),
    "man": (("-P", "high", _RUNS), ("--pager", "high", _RUNS), ("-H", "high", _RUNS), ("--html", "high", _RUNS), ("-C", "high", _CONFIG)),
    "pytest": (("-p", "medium", _CODE), ("-c", "medium", _CONFIG), ("--rootdir", "medium", _CONFIG), ("--confcutdir", "medium", _CONFIG), ("--pastebin", "high", _SENDS), ("--pdbcls", "high", _CODE), ("--debug-wrapper", "high", _RUNS)),
    "pylint": (("--init-hook", "high", _CODE), ("--load-plugins", "high", _CODE), ("--rcfile", "medium", _CONFIG)),
    "flake8": (("--config", "medium", _CONFIG), ("--append-config", "medium", _CONFIG)),
    "mypy": (("--python-executable", "high", _RUNS), ("--config-file", "medium", _CONFIG), ("--install-types", "medium", "installs software, which may run code")),
    "curl": (("-T", "high", _SENDS), ("--upload-file", "high", _SENDS), ("-K", "high", _CONFIG), ("--config", "high", _CONFIG), ("--engine", "high", _CODE)),
    "wget": (("--post-file", "high", _SENDS), ("--body-file", "high", _SENDS), ("--use-askpass", "high", _RUNS), ("-e", "high", _CONFIG), ("--execute", "high", _CONFIG), ("-i", "medium", _CONFIG)),
    "openssl": (("-engine", "high", _CODE), ("-provider-path", "high", _CODE)),
    "gpg": (("--export-secret-keys", "high", "reads keys or secrets"), ("--exec-path", "high", _RUNS), ("--photo-viewer", "high", _RUNS)),
    "make": (("--eval", "high", _CODE), ("SHELL=", "high", _RUNS)),
    "psql": (("-c", "medium", "changes a database"), ("-f", "medium", _CONFIG)),
    "jq": (("-L", "medium", _CODE), ("--library-path", "medium", _CODE)),
    "date": (("-s", "high", "sets the clock"), ("--set", "high", "sets the clock")),
    "hash": (("-p", "high", "changes which program a name stands for"),),
    "enable": (("-f", "high", _CODE), ("-n", "medium", "changes which program a name stands for")),
    "nmap": (("--script", "high", _CODE), ("-iL", "medium", _CONFIG)),
    "history": (("-c", "high", "wipes the history"), ("-d", "high", "wipes the history"), ("-w", "high", "wipes the history"), ("-r", "medium", _CONFIG)),
    "mapfile": (("-C", "high", _RUNS),),
    "readarray": (("-C", "high", _RUNS),),
    "complete": (("-C", "high", _RUNS), ("-F", "medium", _RUNS)),
    "compgen": (("-C", "high", _RUNS), ("-F", "high", _RUNS)),
    "ps": (),
    "less": (("-k", "high", _CONFIG), ("--lesskey", "high", _CONFIG), ("-o", "medium", "writes a file"), ("-O", "medium", "writes a file")),
    "chmod": (("-R", "medium", "changes who may do what in a whole tree"), ("--recursive", "medium", "changes who may do what in a whole tree")),
    "yq": (("-i", "medium", "changes files"), ("--inplace", "medium", "changes files")),
    "tail": (),
    "convert": (), "ffmpeg": (),
}  # fmt: skip

WRITES: dict[str, tuple[str, ...]] = {
    "sort": ("-o", "--output"),
    "tree": ("-o",),
    "iconv": ("-o", "--output"),
    "curl": ("-o", "--output", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--stderr"),
    "wget": ("-O", "--output-document", "-P", "--directory-prefix", "-o", "--output-file", "-a", "--append-output"),
    "pytest": ("--junitxml", "--junit-xml", "--log-file", "--basetemp", "--resultlog", "--report-log", "--cov-report"),
    "tar": ("-C", "--directory", "-f", "--file"),
    "unzip": ("-d",),
    "gcc": ("-o",),
    "cc": ("-o",),
    "clang": ("-o",),
    "time": ("-o", "--output"),
    "strace": ("-o", "--output"),
    "ltrace": ("-o", "--output"),
    "openssl": ("-out", "-writerand"),
    "mktemp": ("-p", "--tmpdir"),
    "gpg": ("-o", "--output"),
    "mv": ("-t", "--target-directory"),
    "cp": ("-t", "--target-directory"),
    "ln": ("-t", "--target-directory"),
    "install": ("-t", "--target-directory"),
    "shuf": ("-o", "--output"),
    "xxd": (),
}


def judge_options(call: Call) -> None:
    """Look for options that run something, load something, send something or write somewhere."""
    for option, level, reason in RISKY.get(call.name, ()):
        for value in values_of(call, option):
            call.worsen(level, reason, value)
    for option in WRITES.get(call.name, ()):
        for value in values_of(call, option):
            level, reason = writing(value.shape)
            if value.shape not in ("-", "/dev/null", "/dev/stdout"):
                call.worsen(level, reason, value)


def values_of(call: Call, option: str) -> list[Word]:
    """The values given to an option, in any spelling; the option itself when it stands alone."""
    if option.startswith("--"):
        return list(call.long(option[2:], 4))
    if len(option) > 2 or not option.startswith("-"):
        return [word.after(len(option)) for word in call.args if word.shape.startswith(option)]
    found: list[Word] = []
    for index, word in enumerate(call.args):
        shape = word.shape
        if not word.option or shape.startswith("--") or option[1] not in shape:
            continue
        position = shape.index(option[1])
        if position > 1 and not shape[1:position].isalpha():
            continue
        if position + 1 < len(shape):
            found.append(word.after(position + 1))
        else:
            found.append(call.args[index + 1] if index + 1 < len(call.args) else word)
    return found
