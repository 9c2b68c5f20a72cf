"""Assess `git`: mostly harmless, but many options run other programs."""

import re
from collections.abc import Callable, Iterator

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.paths import assess_read
from skills_runtime.safety.guard.programs.files import assess_change
from skills_runtime.safety.guard.programs.options import option_values
from skills_runtime.safety.guard.words import Word, names

_READS = names(
    """
    annotate blame cat-file check-attr check-ignore check-ref-format cherry column count-objects describe diff
    diff-files diff-index diff-tree for-each-ref fsck get-tar-commit-id grep help interpret-trailers log
    ls-files ls-remote ls-tree merge-base name-rev patch-id range-diff reflog rev-list rev-parse shortlog show
    show-branch show-ref status stripspace var verify-commit verify-tag version whatchanged
    """
)
_CHANGES = names(
    """
    add am apply archive bisect branch bundle checkout cherry-pick clean clone commit commit-graph commit-tree
    config credential daemon difftool fast-export fast-import fetch filter-branch format-patch gc hash-object
    hook imap-send index-pack init instaweb lfs maintenance merge merge-file merge-tree mergetool mktree
    multi-pack-index mv notes p4 pack-objects pack-refs prune pull push read-tree rebase remote repack replace
    request-pull rerere reset restore revert rm send-email sparse-checkout stash submodule subtree svn switch
    symbolic-ref tag unpack-objects update-index update-ref worktree write-tree
    """
)
_HARMLESS_KEYS = re.compile(
    r"user\.(?:name|email|signingkey)|color\.\w+|advice\.\w+|init\.defaultbranch|core\.(?:quotepath|autocrlf|eol|filemode|ignorecase"
    r"|abbrev|longpaths)|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|commit\.gpgsign|tag\.gpgsign|merge\.(?:ff|conflictstyle)"
    r"|rebase\.autostash|log\.\w+|diff\.(?:renames|algorithm|context|noprefix|mnemonicprefix)|status\.\w+|branch\.\w+\.(?:remote|merge)"
    r"|fetch\.prune|gc\.auto|column\.\w+|format\.pretty|versionsort\.\w+|blame\.\w+",
    re.IGNORECASE,
)
_CONNECTS = names("ls-remote")
_WRITES_OPERANDS = names(
    "clone init worktree archive bundle format-patch mv checkout-index submodule bugreport diagnose rm"
)
"""These subcommands write to their operands."""
_EXEC_OPTIONS = names(
    """
    config config-env exec ext-diff extcmd open-files-in-pager receive-pack sendmail-cmd smtp-server
    template upload-archive upload-pack
    """
)
_VALUED = names(
    """
    --attr-source --config-env --exec-path --git-dir --namespace --super-prefix --work-tree -C -c
    """
)


def assess_git(call: Call) -> None:
    """Assess one use of git."""
    args = call.args
    for word, value in _global_options(args):
        _assess_global_option(call, word, value)
    index = _verb_index(args)
    if index >= len(args):
        return
    verb, arguments = args[index], args[index + 1 :]
    if verb.value is None:
        call.mark_unclear("what git is to do is only known when it runs", verb)
        return
    _assess_verb(call, verb, verb.value, arguments)
    _assess_options(call, verb.value, arguments)
    for word in arguments:
        if re.match(r"(?:ext|fd)::", word.shape) or "::" in word.shape.split("/", 1)[0]:
            call.add_risk("high", "has git run another program", word)
        if ":" in word.shape:
            call.add_assessment(assess_read(word.shape.partition(":")[2]), word)
    if assessor := _VERB_ASSESSORS.get(verb.value):
        assessor(call, arguments)


def _assess_verb(call: Call, verb: Word, name: str, arguments: list[Word]) -> None:
    if (name in _CHANGES and not _only_lists(name, arguments)) or _changes_with_options(name, arguments):
        call.add_risk("medium", "changes a repository", verb)
    elif name in _CONNECTS:
        call.add_risk("medium", "fetches from or sends to the network", verb)
    elif name not in _READS and name not in _CHANGES:
        call.mark_unclear("git may know this word by an alias", verb)


def _global_options(args: list[Word]) -> Iterator[tuple[Word, Word]]:
    """Return the options before the subcommand, with their values."""
    index = 0
    while index < len(args) and args[index].option:
        word = args[index]
        attached = "=" in word.shape or (word.shape[:2] in ("-C", "-c") and len(word.shape) > 2)
        yield word, args[index + 1] if not attached and index + 1 < len(args) else word
        index += 1 if attached or word.option not in _VALUED else 2


def _verb_index(args: list[Word]) -> int:
    """Return the index of the subcommand."""
    options = list(_global_options(args))
    return sum(1 if value is word or word.option not in _VALUED else 2 for word, value in options)


def find_read_verb(call: Call) -> Word | None:
    """Return the subcommand if it only reads, whatever its names and revisions are."""
    index = _verb_index(call.args)
    verb = call.args[index] if index < len(call.args) else None
    arguments = call.args[index + 1 :]
    if verb is None or verb.value not in _READS - _CONNECTS or _changes_with_options(verb.value or "", arguments):
        return None
    return verb if verb.value not in ("reflog", "interpret-trailers", "help") else None


def _changes_with_options(verb: str, arguments: list[Word]) -> bool:
    """Return whether options make a reading subcommand change something."""
    shapes = [word.shape for word in arguments]
    if verb == "reflog":
        return bool(shapes) and shapes[0] in ("expire", "delete", "drop", "write")
    if verb == "fsck":
        return any(shape.startswith("--lo") for shape in shapes)
    if verb == "interpret-trailers":
        return any(shape.startswith("--in") for shape in shapes)
    return verb == "help" and any(re.match(r"-[wim]|--(?:web|info|man)", shape) for shape in shapes)


_LISTING_OPTION = re.compile(
    r"-[avrlin]+\d*|--(?:list|all|remotes|show-current|verbose|ignore-case|column|no-column|color|no-color|abbrev)(?:=\S*)?"
    r"|--(?:sort|format|contains|no-contains|merged|no-merged|points-at)(?:=\S+)?"
)
_LISTING_MODE = re.compile(r"-[avr]*l[avr]*|--(?:list|contains|no-contains|merged|no-merged|points-at)(?:=\S+)?")


def _only_lists(verb: str, arguments: list[Word]) -> bool:
    """Return whether options make a changing subcommand only read."""
    text = " ".join(word.shape for word in arguments)
    if verb in ("branch", "tag"):
        options = [word.shape for word in arguments if word.option]
        if any(word.may_be_option for word in arguments) or not all(map(_LISTING_OPTION.fullmatch, options)):
            return False
        return len(options) == len(arguments) or any(map(_LISTING_MODE.fullmatch, options))
    if verb == "remote":
        return bool(re.fullmatch(r"(?:-v|--verbose|get-url \S+)?", text))
    if verb in ("stash", "worktree", "notes"):
        return bool(re.match(r"(?:list|show)\b", text))
    if verb == "config":
        reads = re.match(
            r"(?:--(?:global|local|system|show-origin|show-scope) )*(?:--get\S*|--list|-l|get|list)\b", text
        )
        return reads is not None and not re.search(r"(?:^| )(?:-e\b|--(?:e|uns|add|rep|ren|rem))", text)
    return verb in ("submodule", "bisect", "lfs") and bool(re.match(r"(?:status|log|ls-files)\b", text))


def _assess_global_option(call: Call, word: Word, value: Word) -> None:
    if re.match(r"--(?:exec-path=|config-env|git-dir|work-tree|attr-source)", word.shape) or word.computed:
        call.mark_unclear(
            "git uses another repository or other programs",
            word,
            "high" if re.match(r"--(?:exec|conf)", word.shape) else "medium",
        )
    elif word.shape.startswith("-c"):
        key = (value.shape if value is not word else word.shape[2:]).partition("=")[0]
        if not _HARMLESS_KEYS.fullmatch(key):
            call.add_risk("high", "sets git's configuration for one command", value)
    elif word.shape.startswith("-C") and value.shape.startswith(("/", "~", "..", "\ufffc")):
        call.add_risk("medium", "works in another repository", value)


def _assess_options(call: Call, verb: str, arguments: list[Word]) -> None:
    for word in arguments:
        name = word.option[2:] if word.shape.startswith("--") else ""
        if name and any(option.startswith(name) for option in _EXEC_OPTIONS):
            if not (verb in ("diff", "log", "show", "blame") and name in ("exec", "template")):
                call.add_risk("high", "has git run another program", word)
        elif verb == "grep" and re.match(r"-[a-zA-Z]*O", word.shape):
            call.add_risk("high", "has git run another program", word)

    if verb in _WRITES_OPERANDS:
        for word in arguments:
            call.add_assessment(assess_change(word.shape.rpartition("=")[2]), word)
    for option in _WRITES.get(verb, ("--output",)):
        for value in option_values(
            Call(call.reader, call.script, [call.words[0], *arguments], call.context, call.name), option
        ):
            call.add_write(value)


_WRITES = {
    "archive": ("-o", "--output"),
    "bugreport": ("-o", "--output-directory"),
    "diagnose": ("-o", "--output-directory"),
    "fast-export": ("--export-marks",),
    "format-patch": ("-o", "--output-directory", "--output"),
}
"""Options that name an output file, besides those of all diff commands."""


def _assess_push(call: Call, arguments: list[Word]) -> None:
    for word in arguments:
        forced = word.shape.startswith(("--force", "--mirror", "--delete", "--prune", "+")) or re.match(
            r":\w", word.shape
        )
        if forced or re.fullmatch(r"-[a-zA-Z]*[fd][a-zA-Z]*", word.shape):
            call.add_risk("high", "overwrites or deletes history elsewhere", word)


def _assess_reset(call: Call, arguments: list[Word]) -> None:
    for word in arguments:
        if len(word.shape) > 3 and "--hard".startswith(word.shape):
            call.add_risk("high", "throws away changes", word)


def _assess_clean(call: Call, arguments: list[Word]) -> None:
    letters = "".join(word.shape[1:] for word in arguments if re.fullmatch(r"-[a-zA-Z]+", word.shape))
    if ("f" in letters or any(word.shape.startswith("--f") for word in arguments)) and "n" not in letters:
        call.add_risk("high", "deletes files that are not in the repository")


def _assess_checkout(call: Call, arguments: list[Word]) -> None:
    for word in arguments:
        if word.shape in ("-f", "--force", ".", ":/", "--discard-changes"):
            call.add_risk("high", "throws away changes", word)


def _assess_config(call: Call, arguments: list[Word]) -> None:
    shapes = [word.shape for word in arguments]
    if any(re.match(r"--(?:get|list|show|name-only)|-l$", shape) for shape in shapes) or shapes[:1] in (
        ["get"],
        ["list"],
    ):
        return
    operands = [word for word in arguments if not word.option and word.shape not in ("set", "unset")]
    if "-e" in shapes or "--edit" in shapes or "--global" in shapes or "--system" in shapes or "edit" in shapes[:1]:
        call.add_risk("high", "changes git's configuration")
    elif len(operands) > 1 and not _HARMLESS_KEYS.fullmatch(operands[0].shape):
        call.add_risk("high", "changes git's configuration", operands[0])


def _assess_clone(call: Call, arguments: list[Word]) -> None:
    for index, word in enumerate(arguments):
        if re.match(r"-c$|--config|-u$|--template", word.shape):
            call.add_risk("high", "has git run another program", arguments[min(index + 1, len(arguments) - 1)])


def _assess_rebase(call: Call, arguments: list[Word]) -> None:
    for index, word in enumerate(arguments):
        if word.shape in ("-x", "--exec") and index + 1 < len(arguments):
            call.read_code(arguments[index + 1])
        elif word.shape.startswith("--exec="):
            call.read_code(word.suffix(7))
        elif re.match(r"-x.", word.shape):
            call.read_code(word.suffix(2))


def _assess_bisect(call: Call, arguments: list[Word]) -> None:
    if arguments and arguments[0].shape == "run":
        call.read_wrapped(arguments[1:])


def _assess_submodule(call: Call, arguments: list[Word]) -> None:
    shapes = [word.shape for word in arguments]
    if "foreach" in shapes:
        call.read_joined(
            [word for word in arguments[shapes.index("foreach") + 1 :] if word.shape not in ("--recursive", "--quiet")]
        )


def _assess_dangerous_verb(call: Call, arguments: list[Word]) -> None:
    call.add_risk("high", "rewrites history, opens a way in, or reads secrets", arguments[0] if arguments else None)


def _assess_difftool(call: Call, arguments: list[Word]) -> None:
    if any(re.match(r"-x|--extcmd|-t|--tool", word.shape) for word in arguments):
        call.mark_unclear("has git run another program", arguments[0], "high")


_VERB_ASSESSORS: dict[str, Callable[[Call, list[Word]], None]] = {
    "push": _assess_push,
    "reset": _assess_reset,
    "clean": _assess_clean,
    "checkout": _assess_checkout,
    "restore": _assess_checkout,
    "switch": _assess_checkout,
    "config": _assess_config,
    "clone": _assess_clone,
    "init": _assess_clone,
    "rebase": _assess_rebase,
    "bisect": _assess_bisect,
    "submodule": _assess_submodule,
    "difftool": _assess_difftool,
    "mergetool": _assess_difftool,
    **dict.fromkeys(
        names("filter-branch credential daemon instaweb send-email imap-send update-ref fast-import"),
        _assess_dangerous_verb,
    ),
}
