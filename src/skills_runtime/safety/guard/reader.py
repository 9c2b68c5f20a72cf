"""Analyze commands: parse the text, evaluate words, find the program and assess it."""

import re
from collections.abc import Mapping, Sequence

from skills_runtime.safety.guard import known_programs as programs
from skills_runtime.safety.guard.calls import Call, CommandContext
from skills_runtime.safety.guard.facts import Findings, Reading, SimpleCommand, Span
from skills_runtime.safety.guard.known_programs import find_url_hosts, program_name
from skills_runtime.safety.guard.paths import assess_pattern_read, assess_read, may_be_sensitive
from skills_runtime.safety.guard.programs import find_assessor
from skills_runtime.safety.guard.programs.options import OPTIONS, find_operand_hosts
from skills_runtime.safety.guard.programs.settled import has_harmless_unknowns
from skills_runtime.safety.guard.programs.table import assess_known, assess_unknown
from skills_runtime.safety.guard.programs.wrappers import is_assignment, is_wrapper
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.walk import read_script
from skills_runtime.safety.guard.words import PLACEHOLDER, Word, find_flaw, names, plain_word, values

MAX_LEVELS = 8
"""Maximum nesting of code inside code."""
# Reserved words; if one appears as a program, parser and shell disagree.
_RESERVED = names("{ } ( ) ! if then else elif fi do done while until for case esac in select function ]]")
# Other characters can look like ASCII letters.
_PROGRAM = re.compile(r"[\x21-\x7e]+")
MAX_DEPTH = 24
"""Maximum number of nested wrappers."""


class Reader:
    """One analysis, which collects everything in one `Findings`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.findings = Findings()
        self._environment = environment

    def is_known_program(self, name: str) -> bool:
        """Return whether a table or an assessor covers a program."""
        return programs.is_known(name) or find_assessor(name) is not None

    def read_script(self, script: Script, context: CommandContext) -> None:
        """Analyze a whole script."""
        read_script(self, script, context, self._environment)

    def read_code(self, script: Script, text: str, byte_range: tuple[int, int], context: CommandContext) -> None:
        """Analyze code inside a script."""
        flaw = "code inside of code is nested too deep" if script.level >= MAX_LEVELS else find_flaw(text)
        if flaw or not self.findings.spend(1 + len(text) // 16):
            self._refuse_to_read(flaw or "the command is too large to be read", "", script.span(*byte_range))
            return
        self.read_script(script.inner(text, *byte_range), context)

    def read_command(self, script: Script, words: list[Word], context: CommandContext) -> None:
        """Assess one simple command and the command it wraps."""
        first = words[0]
        byte_range = (first.start, max(word.end for word in words))
        text, span = script.text_at(*byte_range), script.span(*byte_range)
        if context.depth > MAX_DEPTH or not self.findings.spend(len(words)):
            self._refuse_to_read("commands are wrapped too deep", text, span)
            return
        call = Call(self, script, words, context, program_name(first.value or "").rpartition("/")[2])
        self.findings.commands.append(
            SimpleCommand(
                words=values(words), text=text, span=span, depth=context.depth, settled=has_harmless_unknowns(call)
            )
        )
        if first.value is None or not _PROGRAM.fullmatch(first.value):
            call.mark_unclear(
                "which program runs is only known when it runs", first, "high" if context.unseen_arguments else "medium"
            )
        elif first.value in _RESERVED or is_assignment(first):
            call.mark_unclear("a word of the grammar stands where a program should", first)
            if words[1:]:
                self.read_command(script, words[1:], context.nested())
        else:
            self._assess_program(call)
        self._assess_arguments(call)

    def _refuse_to_read(self, reason: str, part: str, span: Span | None) -> None:
        """Report text that is not parsed as unclear and high: it could do anything."""
        self.findings.mark_unclear(reason, part, span)
        self.findings.add_risk("high", reason, part, span)

    def _assess_program(self, call: Call) -> None:
        first = call.words[0]
        if "/" in program_name(first.value or ""):
            call.add_risk("medium", "runs a program by its path", first)
        if (read_only_use := programs.READ_ONLY_USES.get(call.name)) and read_only_use.fullmatch(
            " ".join(word.shape for word in call.args)
        ):
            return
        if assessor := find_assessor(call.name):
            assessor(call)
        elif call.name in OPTIONS:
            assess_known(call)
        elif programs.is_known(call.name):
            call.add_risk(*programs.assess_by_name(call.name))
        else:
            assess_unknown(call)

    def _assess_arguments(self, call: Call) -> None:
        """Assess all words for secrets, the runtime's state and unknown values, for any program."""
        inert = call.name in programs.INERT or call.name in programs.DECLARE
        if inert and not call.context.output_used:
            self._record_hosts(call)
            return
        plain = call.name in programs.READ_ONLY_PROGRAMS
        names_only = inert or (plain and call.name in programs.LISTERS)
        for word in call.args:
            if word.computed and not names_only:
                call.mark_unclear("an argument is only known when it runs", word)
            elif word.may_be_option and not plain and not is_wrapper(call.name):
                call.add_risk("medium", "an argument may turn out to be an option", word)
            if (word.glob or PLACEHOLDER in word.shape) and not inert and call.name not in programs.LISTERS:
                call.add_assessment(assess_pattern_read(word.shape), word)
        text = "\n".join([word.shape for word in call.args])
        if may_be_sensitive(text):
            for word in call.args:
                self._assess_sensitive_paths(call, word)
        self._record_hosts(call)

    def _assess_sensitive_paths(self, call: Call, word: Word) -> None:
        lists = call.name in programs.LISTERS
        for candidate in {
            word.shape,
            *re.split(r"[=:@,<>\s]", word.shape),
            *(
                [re.sub(r"^-\w", "", word.shape), re.sub(r"^-\w+?(?=[./~])", "", word.shape)]
                if word.shape.startswith("-")
                else []
            ),
        }:
            assessment = assess_read(candidate) if candidate else None
            if assessment and not (lists and assessment[1] != "touches the runtime's own state"):
                call.add_assessment(assessment, word)

    def _record_hosts(self, call: Call) -> None:
        """Record the hosts that words name."""
        for word in call.args:
            if "://" in word.shape or "@" in word.shape:
                for host in find_url_hosts(word.shape):
                    self.findings.hosts[host] = None
        for host in find_operand_hosts(call):
            self.findings.hosts[host] = None


def read_text(line: str, environment: Mapping[str, str]) -> Reading:
    """Analyze a shell line or script."""
    reader = Reader(environment)
    if flaw := find_flaw(line):
        reader.findings.mark_unclear(flaw, line[:200], (0, len(line)))
    else:
        reader.read_script(Script(line), CommandContext())
    return reader.findings.reading()


def read_words(argv: Sequence[str], environment: Mapping[str, str]) -> Reading:
    """Analyze a program that is started without a shell."""
    reader = Reader(environment)
    text = " ".join(argv)
    flaw = find_flaw(text.replace("\n", " ")) if argv and argv[0] else "there is no program to run"
    if flaw:
        reader.findings.mark_unclear(flaw, text[:200], None)
        return reader.findings.reading()
    words: list[Word] = []
    offset = 0
    for part in argv:
        words.append(plain_word(part, offset, offset + len(part.encode())))
        offset += len(part.encode()) + 1
    reader.read_command(Script(text), words, CommandContext())
    return reader.findings.reading()
