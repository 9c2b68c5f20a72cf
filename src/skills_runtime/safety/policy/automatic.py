"""The built-in rules of `safety.mode: auto`: what passes because the sandbox contains it and it can be undone.

Each has a name that decisions cite. A deny or ask rule of the user comes first. Pure, like all decisions.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence

from skills_runtime.protected_names import AUTOLOADED_SUFFIX, STARTUP_FILES, is_autoloaded_name, is_secret_file
from skills_runtime.safety.guard.facts import Facts, SimpleCommand
from skills_runtime.safety.guard.known_programs import CLUSTERS, INSTALLERS, NETWORK_PROGRAMS, READ_ONLY_PROGRAMS
from skills_runtime.safety.guard.words import names
from skills_runtime.safety.policy.commands import base_name, expand_path, find_directories, option_directories
from skills_runtime.safety.policy.patterns import Anchor, matches_tool, normalize_path, path_tokens
from skills_runtime.safety.policy.rule import Rules

BUILT_IN = "built in"
READS_WORKSPACE = f"{BUILT_IN}: reads the workspace"
WRITES_WORKSPACE = f"{BUILT_IN}: writes the workspace"
READING_COMMAND = f"{BUILT_IN}: well-known reading command"
RUNS_IN_SANDBOX = f"{BUILT_IN}: runs in the sandbox"
BUILT_IN_SKILL = f"{BUILT_IN}: program of a built-in skill"
RUNTIME_TOOL = f"{BUILT_IN}: tool of the runtime"

NO_SANDBOX = "no sandbox is active here, so mode `auto` decides like `ask`"
NOT_CONTAINED = "the tool does not run in the sandbox"
SKILL_PROGRAM = "is a program of a skill that has not been approved"


def why_not_contained(facts: Facts, rules: Rules) -> str:
    """Return why no built-in rule applies to any part of a call; empty where each part decides."""
    if not facts.contained:
        return NOT_CONTAINED
    return "" if rules.sandboxed else NO_SANDBOX


def contains_unclear(facts: Facts, rules: Rules) -> bool:
    """Return whether a call may run although the guard does not understand it, because the sandbox contains it.

    A deny or ask rule could be about what is not understood, so any rule for the tool means that it asks.
    """
    if rules.mode != "auto" or why_not_contained(facts, rules):
        return False
    objections = (rule for rule in rules.rules if rule.effect != "allow")
    return not rules.denylist and not any(not rule.tool or matches_tool(rule.tool, facts.tool) for rule in objections)


def name_command_rule(command: SimpleCommand, facts: Facts) -> str:
    """Return the built-in rule that lets a contained command run."""
    if facts.is_built_in:
        return BUILT_IN_SKILL
    program, verb, arguments = _split_command(command.words)
    if program == "git":
        reads = verb in _GIT_READS or (verb in _GIT_LISTS and all((word or "").startswith("-") for word in arguments))
        return READING_COMMAND if reads else RUNS_IN_SANDBOX
    return READING_COMMAND if program in _READING_PROGRAMS else RUNS_IN_SANDBOX


def why_command_asks(command: SimpleCommand, facts: Facts, rules: Rules) -> str:
    """Return why a command leaves what the sandbox contains or cannot be undone; empty where neither is so."""
    if facts.skill:
        return "" if facts.is_built_in else SKILL_PROGRAM
    words = _without_interpreter(command.words)
    program, verb, arguments = _split_command(words)
    if _uses_network(program, words, verb, arguments):
        return "uses the network"
    if program == "rm" and _deletes_many(command.words[1:]):
        return "deletes more than single files"
    if program == "mv" and any(map(_is_private, filter(None, words[1:]))):
        return "moves files to a place that ends with the sandbox"
    undoable = _why_git_not_undoable(verb, arguments) if program == "git" else ""
    return undoable or _why_outside(program, command, facts, rules)


def why_write_asks(path: str | None, facts: Facts, rules: Rules) -> str:
    """Return why a redirection must not write a file unasked; the sandbox contains one whose name is not known."""
    if path is None or _is_private(path):
        return ""
    places = expand_path(find_directories(facts), path)
    if not all(_is_inside(place, rules) for place in places):
        return "writes outside the workspace"
    return "changes a protected file" if _is_protected(path) else ""


def why_file_asks(path: str, *, changes: bool, rules: Rules) -> str:
    """Return why a file tool must not touch a file unasked; these run in the runtime itself, not in the sandbox."""
    if not _is_inside(path, rules):
        return "reaches a path outside the workspace"
    return "changes a protected file" if changes and _is_protected(path) else ""


Words = Sequence[str | None]

_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_GIT_NETWORK = frozenset({"clone", "fetch", "pull", "push", "ls-remote", "send-email", "imap-send", "svn", "p4"})
_GIT_REMOTE_UPDATES = {
    "remote": frozenset({"update", "prune", "show"}),
    "submodule": frozenset({"add", "update", "sync"}),
    "lfs": frozenset({"fetch", "pull", "push", "clone"}),
}
_GIT_READS = names(
    """
    annotate blame cat-file check-ignore describe diff grep help log ls-files ls-tree merge-base rev-list
    rev-parse shortlog show show-ref status version whatchanged
    """
)
_GIT_LISTS = frozenset({"branch", "tag", "remote"})
_REBASE_STEPS = frozenset({"--continue", "--abort", "--skip", "--quit", "--edit-todo", "--show-current-patch"})
_NEW_BRANCH = re.compile(r"-[bBcCt]|--(?:orphan|track|create|force-create|detach)\b.*")
_FILE_NAME = re.compile(r".*\.[A-Za-z]\w{0,5}")
_LOCAL_VERBS = names(
    """
    run run-script test t tst start stop exec x build check list ls show freeze why tree metadata fmt clippy doc
    docs bench clean vet version env help init new shell config format lint dev serve preview watch typecheck generate
    """
)
"""What package managers do with the files that are there."""
_SHOWING_OPTIONS = frozenset({"--version", "-V", "-v", "--help", "-h"})
_QUIET_OPTIONS = frozenset({"-q", "--quiet", "-s", "--silent", "--offline", "--no-color", "--verbose"})
_PUBLISHERS = frozenset({"twine", "flit", "lerna", "semantic-release", "goreleaser"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_READING_PROGRAMS = READ_ONLY_PROGRAMS | frozenset(
    {"rg", "tree", "jq", "file", "date", "find", "fd", "ag", "sort", "uniq", "xxd"}
)


def _without_interpreter(words: Words) -> Words:
    """Return `twine upload` for `python -m twine upload`."""
    runs_module = len(words) > 2 and words[1] == "-m" and _PYTHON.fullmatch(base_name(words[0] or ""))
    return words[2:] if runs_module else words


def _split_command(words: Words) -> tuple[str, str | None, Words]:
    """Return the program without its directory, the first word that is no option, and the words after that."""
    program = base_name((words[0] if words else None) or "")
    index = 1
    while index < len(words) and (words[index] or "").startswith("-"):
        index += 2 if program == "git" and words[index] in _GIT_VALUED else 1
    return program, words[index] if index < len(words) else "", words[index + 1 :]


def _uses_network(program: str, words: Words, verb: str | None, arguments: Words) -> bool:
    if program == "git":
        following = next((word for word in arguments if not (word or "").startswith("-")), "")
        return verb in _GIT_NETWORK or following in _GIT_REMOTE_UPDATES.get(verb or "", ())
    if program in INSTALLERS:
        return not _stays_local(words)
    if program == "openssl":
        return verb in ("s_client", "s_server", "ocsp")
    return program in NETWORK_PROGRAMS or program in CLUSTERS or program in _PUBLISHERS


def _stays_local(words: Words) -> bool:
    """Return whether a package manager works with what is there; options with values could hide what it does."""
    options = [word for word in words[1:] if (word or "").startswith(("-", "+"))]
    verb = next((word for word in words[1:] if word not in options), "")
    if not verb:
        return bool(options) and all(option in _SHOWING_OPTIONS for option in options)
    before = words[1 : words.index(verb)]
    return verb in _LOCAL_VERBS and all((word or "") in _QUIET_OPTIONS or (word or "")[:1] == "+" for word in before)


def _deletes_many(words: Words) -> bool:
    return None in words or any(re.match(r"-\w*[rR]|--recursive", word or "") for word in words)


def _why_git_not_undoable(verb: str | None, arguments: Words) -> str:
    options = {word for word in arguments if word and word.startswith("-")}
    operands = [word for word in arguments if not (word or "").startswith("-")]
    if (
        (verb == "commit" and "--amend" in options)
        or (verb == "rebase" and not options & _REBASE_STEPS)
        or verb in ("filter-branch", "filter-repo", "prune")
        or (verb == "reflog" and operands[:1] in (["expire"], ["delete"]))
        or (verb == "gc" and any(option.startswith("--prune") for option in options))
    ):
        return "rewrites history"
    if (
        (verb == "branch" and (options & {"-D", "-M", "-C", "-f", "--force"}))
        or (verb == "tag" and options & {"-d", "--delete", "-f", "--force"})
        or (verb == "stash" and operands[:1] in (["drop"], ["clear"]))
        or (verb == "worktree" and operands[:1] == ["remove"] and options & {"-f", "--force"})
    ):
        return "deletes branches, tags or stashed changes"
    return "throws away changes" if _discards_changes(verb, options, operands) else ""


def _discards_changes(verb: str | None, options: set[str], operands: Words) -> bool:
    if verb == "restore":
        return not options & {"--staged", "-S"} or bool(options & {"--worktree", "-W"})
    if verb == "checkout" and not any(map(_NEW_BRANCH.fullmatch, options)):
        return "--" in options or len(operands) > 1 or any(_FILE_NAME.fullmatch(word or "") for word in operands)
    if verb == "rm":
        return bool(options & {"-f", "--force", "-rf", "-fr"})
    return verb == "reset" and bool(options & {"--merge", "--keep"})


_PRIVATE = re.compile(r"/tmp(?:/|$)|/dev/(?:null|zero|stdout|stderr|fd/)")
"""Places of which each sandbox has its own."""
_MACHINE_DIRECTORIES = frozenset(
    {"home", "root", "Users", "Volumes", "private", "var", "srv", "mnt", "media", "run", "boot", "data", "opt"}
)
"""First directories of absolute paths that are places of the machine and not of the programs a sandbox shows."""
_WRITERS = frozenset({"cp", "mv", "ln", "tee", "touch", "truncate", "mkdir", "install", "rsync", "dd", "rm", "rmdir"})
_SPACE = re.compile(r"\s")
_HOME = re.compile(r"~[\w-]*/|~$")


def _why_outside(program: str, command: SimpleCommand, facts: Facts, rules: Rules) -> str:
    """Return why a command reaches outside the workspace by a path that it names."""
    directories = find_directories(facts)
    for path in (*_named_paths(program, command), *option_directories(command)):
        if _is_private(path) or path == "/":
            continue
        if not all(_is_inside(place, rules) for place in expand_path(directories, path)):
            return "names a path outside the workspace"
    return ""


def _named_paths(program: str, command: SimpleCommand) -> Iterator[str]:
    """Yield what certainly names a path: text such as `/api/v1` or `s/a/b/` is not one."""
    for word in filter(None, command.words[1:]):
        for token in (word,) if _SPACE.search(word) else path_tokens(word):  # a sentence names no path
            first = token.split("/", 2)[1] if token.startswith("/") and len(token) > 1 else ""
            if _HOME.match(token) or ".." in token.split("/") or first in _MACHINE_DIRECTORIES:
                yield token
        if program in _WRITERS and word.startswith("/"):
            yield word
    yield from (path for path in command.words[:1] if path and (".." in path.split("/") or _HOME.match(path)))


def _is_private(path: str) -> bool:
    return _PRIVATE.match(posixpath.normpath(path)) is not None


def _is_inside(path: str, rules: Rules) -> bool:
    """Return whether a path lies in the workspace or in another directory of the run."""
    if path.startswith("~"):
        return False
    normal = posixpath.normpath(path)
    if any(normal == output or normal.startswith(f"{output}/") for output in rules.outputs):
        return True
    if not path.startswith("/"):
        return normal != ".." and not normal.startswith("../")
    where = normalize_path(path, Anchor(rules.root, rules.home))
    return where is not None and where.inside


def _is_protected(path: str) -> bool:
    """Return whether programs outside the sandbox obey a file, or it holds secrets."""
    parts = [part for part in path.split("/") if part]
    return any(is_autoloaded_name(part) or part in STARTUP_FILES for part in parts) or (
        bool(parts) and (is_secret_file(parts[-1]) or parts[-1].endswith(AUTOLOADED_SUFFIX))
    )
