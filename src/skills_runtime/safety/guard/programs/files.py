"""Programs that delete, move, change or write files."""

import re

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import MEDIUM
from skills_runtime.safety.guard.paths import Assessment, assess_read, assess_write, is_broad_target
from skills_runtime.safety.guard.programs.options import assess_options
from skills_runtime.safety.guard.words import PLACEHOLDER, Word

_LAST = frozenset({"cp", "ln", "install", "rsync", "scp"})
"""Only their last operand is written."""


def assess_rm(call: Call) -> None:
    """Assess `rm` by its operands."""
    recursive = call.has_short("rR") or call.has_long("recursive")
    call.add_risk("medium", "deletes files")
    if call.has_long("no-preserve-root"):
        call.add_risk("high", "deletes a whole tree")
    if call.context.unseen_arguments:
        call.add_risk("high", "deletes every path it is given")
    for word in call.operands():
        unknown = word.value is None and not word.glob
        if not word.shape.strip("/*.~") or (recursive and (unknown or is_broad_target(word.shape))):
            call.add_risk("high", "deletes a whole tree", word)
        else:
            call.add_assessment(assess_change(word.shape), word)


def assess_change(shape: str) -> Assessment | None:
    """Assess changing or deleting one file; None below high."""
    level, _ = assess_write(shape)
    return ("high", "changes a file that matters") if level == "high" else None


def assess_writers(call: Call) -> None:
    """Assess programs that write their operands."""
    call.add_risk("medium", MEDIUM.get(call.name, "changes files"))
    assess_options(call)
    operands = call.operands()
    for word in operands[-1:] if call.name in _LAST else operands:
        assess_written(call, word)


def assess_written(call: Call, word: Word) -> None:
    """Assess one path written by a program whose purpose is to write."""
    if word.shape in ("-", "/dev/null", "/dev/stdout", "/dev/stderr"):
        return
    if word.computed:
        call.mark_unclear("writes to a place that is only known when it runs", word)
    level, reason = assess_write(word.shape)
    call.add_risk(level, reason, word)


_VALUED = {"uniq": "fsw", "xxd": "cgloRns"}
"""Short options with a value."""


def assess_second_operand(call: Call) -> None:
    """Assess programs that read their first operand and write their second."""
    operands: list[Word] = []
    index, ended = 0, False
    while index < len(call.args):
        word = call.args[index]
        if ended or not word.option:
            operands.append(word)
        elif not word.shape.startswith("--"):
            index += word.shape[-1] in _VALUED[call.name] and len(word.shape) == 2
        ended = ended or word.shape == "--" or (call.name == "xxd" and not word.option)
        index += 1
    for word in operands[1:]:
        call.add_write(word)
    if operands and operands[0].may_split:
        call.add_risk("medium", "may write a file that it is to read", operands[0])


def assess_dd(call: Call) -> None:
    """Assess `dd`, which may copy the blocks of a disk."""
    call.add_risk("medium", "copies raw data")
    for word in call.args:
        if word.shape.startswith("of="):
            target = word.suffix(3)
            if target.shape.startswith("/dev/") and target.shape != "/dev/null":
                call.add_risk("high", "destroys a disk or a file system", word)
            else:
                call.add_write(target)
        elif word.shape.startswith("if=/dev/") and not re.match(r"if=/dev/(?:u?random|zero|null)$", word.shape):
            call.add_risk("high", "reads a disk or a file system", word)
        elif PLACEHOLDER in word.shape:
            call.mark_unclear("an argument is only known when it runs", word, "high")


def assess_chmod(call: Call) -> None:
    """Assess `chmod`: a whole tree, world-writable files, or setuid bits."""
    call.add_risk("medium", "changes who may do what")
    recursive = call.has_short("R") or call.has_long("recursive")
    operands = [word for word in call.args if not word.option or re.match(r"-[rwxst]", word.shape)]
    mode = operands[0].shape if operands else ""
    if re.fullmatch(r"0?[2467][0-7]{3}", mode) or re.search(r"\+[rwx]*s", mode):
        call.add_risk("high", "lets a program run with another user's rights", operands[0])
    if re.fullmatch(r"0*[0-7]?[0-7][0-7][2367]", mode) or re.search(r"(?:^|,)(?:[ugo]*[oa][ugo]*)[+=][rx]*w", mode):
        call.add_risk("high" if recursive else "medium", "lets everybody write", operands[0])
    for word in operands[1:]:
        if recursive and is_broad_target(word.shape) and word.shape not in (".", "./"):
            call.add_risk("high", "changes who may do what in a whole tree", word)
        elif assess_write(word.shape)[0] == "high":
            call.add_risk("high", "changes a file that matters", word)


def assess_chown(call: Call) -> None:
    """Assess `chown` and `chgrp`."""
    call.add_risk("medium", "changes who may do what")
    recursive = call.has_short("R") or call.has_long("recursive")
    for word in call.operands()[1:]:
        if (recursive and is_broad_target(word.shape)) or assess_write(word.shape)[0] == "high":
            call.add_risk("high", "changes the owner of what matters", word)


def assess_kill(call: Call) -> None:
    """Assess `kill`."""
    if call.has_short("lL") or call.has_long("list"):
        return
    call.add_risk("medium", "ends a process")
    for index, word in enumerate(call.args):
        first = index == 0 and word.shape.startswith("-")
        if not first and re.fullmatch(r"-\d+|[01]|-1", word.shape):
            call.add_risk("high", "ends many processes at once", word)
    if [word.shape for word in call.args] == ["-1"]:
        call.add_risk("high", "ends many processes at once")


def assess_tar(call: Call) -> None:
    """Assess `tar`: unpacking may overwrite files, and options may run programs."""
    call.add_risk("medium", "changes files")
    assess_options(call)
    first = call.args[0].shape if call.args else ""
    if "I" in first.lstrip("-") and not first.startswith("--"):
        call.add_risk("high", "has another program run by an option", call.args[0])
    if call.has_short("P") or call.has_long("absolute-names"):
        call.add_risk("high", "unpacks to any path an archive names")
    for word in call.operands():
        call.add_assessment(assess_read(word.shape), word)
