"""Options that turn a harmless program into a dangerous one, as tables."""

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.paths import writing
from skills_runtime.safety.guard.words import Word

_RUNS = "has another program run by an option"
_CODE = "loads code named by an option"
_SENDS = "sends a file over the network"
_CONFIG = "takes its options from a file"

_WIPES = "wipes the history"
_CLOCK = "sets the clock"
_FILE = "writes a file"
_NAMES = "changes which program a name stands for"

_RISKY: tuple[tuple[str, str, Level, str], ...] = (
    ("rg", "--pre --hostname-bin", "high", _RUNS),
    ("ag", "--pager", "high", _RUNS),
    ("ack", "--pager", "high", _RUNS),
    ("ack", "--ackrc", "high", _CONFIG),
    ("bat", "--pager", "high", _RUNS),
    ("sort", "--compress-program", "high", _RUNS),
    ("split", "--filter", "high", _RUNS),
    ("tar", "--checkpoint-action --to-command --use-compress-program --info-script --new-volume-script", "high", _RUNS),
    ("tar", "--rsh-command --rmt-command -I -F", "high", _RUNS),
    ("zip", "-TT --unzip-command", "high", _RUNS),
    ("rsync", "--rsh -e --rsync-path", "high", _RUNS),
    ("rsync", "--delete", "high", "deletes what the source does not have"),
    ("scp", "-S -o", "high", _RUNS),
    ("scp", "-F", "high", _CONFIG),
    ("scp", "-J", "medium", _RUNS),
    ("sftp", "-S -o -D", "high", _RUNS),
    ("sftp", "-b", "medium", _CONFIG),
    ("ssh", "-o", "high", _RUNS),
    ("ssh", "-F", "high", _CONFIG),
    ("ssh", "-R", "high", "opens a way into this machine"),
    ("ssh", "-D", "high", "opens a way into another network"),
    ("ssh", "-I", "high", _CODE),
    ("man", "-P --pager -H --html", "high", _RUNS),
    ("man", "-C", "high", _CONFIG),
    ("pytest", "-p", "medium", _CODE),
    ("pytest", "-c --rootdir --confcutdir", "medium", _CONFIG),
    ("pytest", "--pastebin", "high", _SENDS),
    ("pytest", "--pdbcls", "high", _CODE),
    ("pytest", "--debug-wrapper", "high", _RUNS),
    ("pylint", "--init-hook --load-plugins", "high", _CODE),
    ("pylint", "--rcfile", "medium", _CONFIG),
    ("flake8", "--config --append-config", "medium", _CONFIG),
    ("mypy", "--python-executable", "high", _RUNS),
    ("mypy", "--config-file", "medium", _CONFIG),
    ("mypy", "--install-types", "medium", "installs software, which may run code"),
    ("curl", "-T --upload-file", "high", _SENDS),
    ("curl", "-K --config", "high", _CONFIG),
    ("curl", "--engine", "high", _CODE),
    ("wget", "--post-file --body-file", "high", _SENDS),
    ("wget", "--use-askpass", "high", _RUNS),
    ("wget", "-e --execute", "high", _CONFIG),
    ("wget", "-i", "medium", _CONFIG),
    ("openssl", "-engine -provider-path", "high", _CODE),
    ("gpg", "--export-secret-keys", "high", "reads keys or secrets"),
    ("gpg", "--exec-path --photo-viewer", "high", _RUNS),
    ("make", "--eval", "high", _CODE),
    ("make", "SHELL=", "high", _RUNS),
    ("psql", "-c", "medium", "changes a database"),
    ("psql", "-f", "medium", _CONFIG),
    ("jq", "-L --library-path", "medium", _CODE),
    ("date", "-s --set", "high", _CLOCK),
    ("hash", "-p", "high", _NAMES),
    ("enable", "-f", "high", _CODE),
    ("enable", "-n", "medium", _NAMES),
    ("nmap", "--script", "high", _CODE),
    ("nmap", "-iL", "medium", _CONFIG),
    ("history", "-c -d -w", "high", _WIPES),
    ("history", "-r", "medium", _CONFIG),
    ("mapfile", "-C", "high", _RUNS),
    ("readarray", "-C", "high", _RUNS),
    ("complete", "-C", "high", _RUNS),
    ("complete", "-F", "medium", _RUNS),
    ("compgen", "-C -F", "high", _RUNS),
    ("less", "-k --lesskey", "high", _CONFIG),
    ("less", "-o -O", "medium", _FILE),
    ("yq", "-i --inplace", "medium", "changes files"),
)
"""A program, its options, and what they mean."""

_WRITES: dict[str, str] = {
    "sort": "-o --output",
    "tree": "-o",
    "iconv": "-o --output",
    "curl": "-o --output --output-dir -D --dump-header -c --cookie-jar --trace --stderr",
    "wget": "-O --output-document -P --directory-prefix -o --output-file -a --append-output",
    "pytest": "--junitxml --junit-xml --log-file --basetemp --resultlog --report-log --cov-report",
    "tar": "-C --directory -f --file",
    "unzip": "-d",
    "gcc": "-o",
    "cc": "-o",
    "clang": "-o",
    "time": "-o --output",
    "strace": "-o --output",
    "ltrace": "-o --output",
    "openssl": "-out -writerand",
    "mktemp": "-p --tmpdir",
    "gpg": "-o --output",
    "mv": "-t --target-directory",
    "cp": "-t --target-directory",
    "ln": "-t --target-directory",
    "install": "-t --target-directory",
    "shuf": "-o --output",
}
"""Options whose value is a file that is written."""


def _by_program() -> dict[str, list[tuple[str, Level | None, str]]]:
    table: dict[str, list[tuple[str, Level | None, str]]] = {}
    for program, options, level, reason in _RISKY:
        table.setdefault(program, []).extend((option, level, reason) for option in options.split())
    for program, options in _WRITES.items():
        table.setdefault(program, []).extend((option, None, "") for option in options.split())
    return table


OPTIONS = _by_program()
"""What each option of a program means; without a level it names a file that is written."""


def judge_options(call: Call) -> None:
    """Look for options that run something, load something, send something or write somewhere."""
    for option, level, reason in OPTIONS.get(call.name, ()):
        for value in values_of(call, option):
            if level is not None:
                call.worsen(level, reason, value)
            elif value.shape not in ("-", "/dev/null", "/dev/stdout"):
                call.worsen(*writing(value.shape), value)


def values_of(call: Call, option: str) -> list[Word]:
    """The values given to an option, in any spelling; the option itself when it stands alone."""
    if option.startswith("--"):
        return list(call.long(option[2:]))
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
