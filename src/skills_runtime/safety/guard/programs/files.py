"""Programs that delete, move, change or write files."""

import re

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import MEDIUM
from skills_runtime.safety.guard.paths import Judgement, is_wide, reading, writing
from skills_runtime.safety.guard.programs.options import judge_options
from skills_runtime.safety.guard.words import HOLE, Word

_LAST = frozenset({"cp", "ln", "install", "rsync", "scp"})
"""Only their last operand is written."""


def rm(call: Call) -> None:
    """Deleting: how much depends on what is named."""
    recursive = call.short("rR") or call.has("recursive")
    call.worsen("medium", "deletes files")
    if call.has("no-preserve-root"):
        call.worsen("high", "deletes a whole tree")
    if call.scene.listed:
        call.worsen("high", "deletes whatever it is given")
    for word in call.operands():
        unknown = word.value is None and not word.glob
        if not word.shape.strip("/*.~") or (recursive and (unknown or is_wide(word.shape))):
            call.worsen("high", "deletes a whole tree", word)
        else:
            call.judged(deleting(word.shape), word)


def deleting(shape: str) -> Judgement | None:
    """What changing or deleting one file means; only what is high is of interest."""
    level, _ = writing(shape)
    return ("high", "changes a file that matters") if level == "high" else None


def writers(call: Call) -> None:
    """Programs whose operands are written."""
    call.worsen("medium", MEDIUM.get(call.name, "changes files"))
    judge_options(call)
    operands = call.operands()
    for word in operands[-1:] if call.name in _LAST else operands:
        judge_written(call, word)


def judge_written(call: Call, word: Word) -> None:
    """Judge one path that is written by a program which is there to write."""
    if word.shape in ("-", "/dev/null", "/dev/stdout", "/dev/stderr"):
        return
    if word.built:
        call.puzzle("writes to a place that is only known when it runs", word)
    level, reason = writing(word.shape)
    call.worsen(level, reason, word)


_VALUED = {"uniq": "fsw", "xxd": "cgloRns"}
"""Short options that have a value."""


def second_operand(call: Call) -> None:
    """Programs that read their first operand and write their second."""
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
        call.write(word)
    if operands and operands[0].several:
        call.worsen("medium", "may write a file that it is to read", operands[0])


def dd(call: Call) -> None:
    """Copying blocks, which may be those of a disk."""
    call.worsen("medium", "copies raw data")
    for word in call.args:
        if word.shape.startswith("of="):
            target = word.after(3)
            if target.shape.startswith("/dev/") and target.shape != "/dev/null":
                call.worsen("high", "destroys a disk or a file system", word)
            else:
                call.write(target)
        elif word.shape.startswith("if=/dev/") and not re.match(r"if=/dev/(?:u?random|zero|null)$", word.shape):
            call.worsen("high", "reads a disk or a file system", word)
        elif HOLE in word.shape:
            call.puzzle("an argument is only known when it runs", word, "high")


def chmod(call: Call) -> None:
    """Changing modes: a whole tree, everybody, or the right to become somebody else."""
    call.worsen("medium", "changes who may do what")
    recursive = call.short("R") or call.has("recursive")
    operands = [word for word in call.args if not word.option or re.match(r"-[rwxst]", word.shape)]
    mode = operands[0].shape if operands else ""
    if re.fullmatch(r"0?[2467][0-7]{3}", mode) or re.search(r"\+[rwx]*s", mode):
        call.worsen("high", "lets a program run with somebody else's rights", operands[0])
    if re.fullmatch(r"0*[0-7]?[0-7][0-7][2367]", mode) or re.search(r"(?:^|,)(?:[ugo]*[oa][ugo]*)[+=][rx]*w", mode):
        call.worsen("high" if recursive else "medium", "lets everybody write", operands[0])
    for word in operands[1:]:
        if recursive and is_wide(word.shape) and word.shape not in (".", "./"):
            call.worsen("high", "changes who may do what in a whole tree", word)
        elif writing(word.shape)[0] == "high":
            call.worsen("high", "changes a file that matters", word)


def chown(call: Call) -> None:
    """Changing owners."""
    call.worsen("medium", "changes who may do what")
    recursive = call.short("R") or call.has("recursive")
    for word in call.operands()[1:]:
        if (recursive and is_wide(word.shape)) or writing(word.shape)[0] == "high":
            call.worsen("high", "changes the owner of what matters", word)


def kill(call: Call) -> None:
    """Ending processes by number."""
    if call.short("lL") or call.has("list"):
        return
    call.worsen("medium", "ends a process")
    for index, word in enumerate(call.args):
        first = index == 0 and word.shape.startswith("-")
        if not first and re.fullmatch(r"-\d+|[01]|-1", word.shape):
            call.worsen("high", "ends many processes at once", word)
    if [word.shape for word in call.args] == ["-1"]:
        call.worsen("high", "ends many processes at once")


def tar(call: Call) -> None:
    """Archives: what is unpacked may overwrite, and options may run programs."""
    call.worsen("medium", "changes files")
    judge_options(call)
    first = call.args[0].shape if call.args else ""
    if "I" in first.lstrip("-") and not first.startswith("--"):
        call.worsen("high", "has another program run by an option", call.args[0])
    if call.short("P") or call.has("absolute-names"):
        call.worsen("high", "unpacks to any place an archive names")
    for word in call.operands():
        call.judged(reading(word.shape), word)
