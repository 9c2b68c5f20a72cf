"""Decide whether unknown words can change what a command does."""

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.known_programs import INERT, LISTERS, LOW, READ_ONLY_PROGRAMS, program_name
from skills_runtime.safety.guard.programs.git import find_read_verb
from skills_runtime.safety.guard.programs.wrappers import WRAPPERS, unwrap
from skills_runtime.safety.guard.words import Word, names

# They write, or may write, the operands after the first.
_WRITTEN_OPERANDS = names("uniq xxd ptx")
_OPERANDS_ARE_CODE = names(
    "read mapfile readarray getopts let declare typeset export readonly local unset set printf compgen"
)
"""Their operands are code, or change later commands."""


def has_harmless_unknowns(call: Call) -> bool:
    """Return whether the unknown words of a command can only name what it reads."""
    unknown = [word for word in call.args if word.value is None]
    if not unknown:
        return True
    first = call.words[0].value
    if first is None or "/" in program_name(first):
        return False
    if call.name in WRAPPERS:
        return _are_all_wrapped(call, unknown)
    if call.name == "cd":
        return False
    if call.name in READ_ONLY_PROGRAMS:
        if call.name in INERT or call.name in LISTERS:
            return True
        return not any(word.computed or word.from_environment for word in unknown)
    reads = call.name in LOW and call.name not in _WRITTEN_OPERANDS | _OPERANDS_ARE_CODE
    return (reads or call.name == "find" or _is_after_verb(call, unknown)) and all(map(_is_plain_name, unknown))


def _is_plain_name(word: Word) -> bool:
    return not (word.may_be_option or word.computed or word.from_environment or word.is_process)


def _is_after_verb(call: Call, unknown: list[Word]) -> bool:
    """Return whether git only reads and all unknown words follow the subcommand."""
    if call.name != "git":
        return False
    verb = find_read_verb(call)
    return verb is not None and all(word.start > verb.start for word in unknown)


def _are_all_wrapped(call: Call, unknown: list[Word]) -> bool:
    """Return whether all unknown words belong to the wrapped command, which is assessed itself."""
    unwrapped = unwrap(WRAPPERS[call.name], call.args)
    inside = [word for word in unwrapped.command[1:] if word.value is None]
    return unwrapped.understood and unwrapped.code is None and len(inside) == len(unknown)
