"""Reads commands: the tree gives words, the words give a program, and the program says what it would do."""

import re
from collections.abc import Mapping, Sequence

from skills_runtime.safety.guard import known_programs as programs
from skills_runtime.safety.guard.calls import Call, CommandContext
from skills_runtime.safety.guard.facts import Findings, Reading, SimpleCommand, Span
from skills_runtime.safety.guard.known_programs import hosts_of, program_name
from skills_runtime.safety.guard.paths import matching, may_matter, reading
from skills_runtime.safety.guard.programs import judge_for
from skills_runtime.safety.guard.programs.options import OPTIONS, plain_hosts
from skills_runtime.safety.guard.programs.settled import is_settled
from skills_runtime.safety.guard.programs.table import busy, unknown
from skills_runtime.safety.guard.programs.wrappers import is_assignment, is_wrapper
from skills_runtime.safety.guard.syntax import Script
from skills_runtime.safety.guard.walk import read_script
from skills_runtime.safety.guard.words import HOLE, Word, flaw_of, names, plain_word, values

MAX_LEVELS = 8
"""How deep code inside of code is followed."""
_RESERVED = names("{ } ( ) ! if then else elif fi do done while until for case esac in select function ]]")
"""Words of the grammar; where one is taken for a program, the parser and the shell do not agree."""
_PROGRAM = re.compile(r"[\x21-\x7e]+")
"""Other letters can look like these."""
MAX_DEPTH = 24
"""How many wrappers around each other are followed."""


class Reader:
    """One reading: everything found on the way is collected in one place."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.found = Findings()
        self._environment = environment

    def knows(self, name: str) -> bool:
        """Tell whether a table or a judge knows a program."""
        return programs.is_known(name) or judge_for(name) is not None

    def script(self, script: Script, scene: CommandContext) -> None:
        """Read a whole script."""
        read_script(self, script, scene, self._environment)

    def code(self, script: Script, text: str, place: tuple[int, int], scene: CommandContext) -> None:
        """Read code that was found inside of a script."""
        flaw = "code inside of code is nested too deep" if script.level >= MAX_LEVELS else flaw_of(text)
        if flaw or not self.found.spend(1 + len(text) // 16):
            self._give_up(flaw or "the command is too large to be read", "", script.span(*place))
            return
        self.script(script.inner(text, *place), scene)

    def command(self, script: Script, words: list[Word], scene: CommandContext) -> None:
        """Judge one simple command and what it wraps."""
        first = words[0]
        place = (first.start, max(word.end for word in words))
        text, span = script.written(*place), script.span(*place)
        if scene.depth > MAX_DEPTH or not self.found.spend(len(words)):
            self._give_up("commands are wrapped too deep", text, span)
            return
        call = Call(self, script, words, scene, program_name(first.value or "").rpartition("/")[2])
        self.found.commands.append(
            SimpleCommand(words=values(words), text=text, span=span, depth=scene.depth, settled=is_settled(call))
        )
        if first.value is None or not _PROGRAM.fullmatch(first.value):
            call.puzzle("which program runs is only known when it runs", first, "high" if scene.listed else "medium")
        elif first.value in _RESERVED or is_assignment(first):
            call.puzzle("a word of the grammar stands where a program should", first)
            if words[1:]:
                self.command(script, words[1:], scene.deeper())
        else:
            self._judge(call)
        self.arguments(call)

    def _give_up(self, reason: str, part: str, span: Span | None) -> None:
        """What is not looked at can be anything."""
        self.found.puzzle(reason, part, span)
        self.found.worsen("high", reason, part, span)

    def _judge(self, call: Call) -> None:
        first = call.words[0]
        if "/" in program_name(first.value or ""):
            call.worsen("medium", "runs a program by its path", first)
        if (looks := programs.LOOKS.get(call.name)) and looks.fullmatch(" ".join(word.shape for word in call.args)):
            return
        if judge := judge_for(call.name):
            judge(call)
        elif call.name in OPTIONS:
            busy(call)
        elif programs.is_known(call.name):
            call.worsen(*programs.by_name(call.name))
        else:
            unknown(call)

    def arguments(self, call: Call) -> None:
        """Look at all words for what matters whoever gets them: secrets, the runtime's state, and holes."""
        inert = call.name in programs.INERT or call.name in programs.DECLARE
        if inert and not call.scene.heard:
            self.hosts(call)
            return
        plain = call.name in programs.PLAIN
        names_only = inert or (plain and call.name in programs.LISTERS)
        for word in call.args:
            if word.built and not names_only:
                call.puzzle("an argument is only known when it runs", word)
            elif word.loose and not plain and not is_wrapper(call.name):
                call.worsen("medium", "an argument may turn out to be an option", word)
            if (word.glob or HOLE in word.shape) and not inert and call.name not in programs.LISTERS:
                call.judged(matching(word.shape), word)
        text = "\n".join([word.shape for word in call.args])
        if may_matter(text):
            for word in call.args:
                self._secret(call, word)
        self.hosts(call)

    def _secret(self, call: Call, word: Word) -> None:
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
            judgement = reading(candidate) if candidate else None
            if judgement and not (lists and judgement[1] != "touches the runtime's own state"):
                call.judged(judgement, word)

    def hosts(self, call: Call) -> None:
        """Take note of the hosts that words name."""
        for word in call.args:
            if "://" in word.shape or "@" in word.shape:
                for host in hosts_of(word.shape):
                    self.found.hosts[host] = None
        for host in plain_hosts(call):
            self.found.hosts[host] = None


def read_text(line: str, environment: Mapping[str, str]) -> Reading:
    """What a line or a script of shell would do."""
    reader = Reader(environment)
    if flaw := flaw_of(line):
        reader.found.puzzle(flaw, line[:200], (0, len(line)))
    else:
        reader.script(Script(line), CommandContext())
    return reader.found.reading()


def read_words(argv: Sequence[str], environment: Mapping[str, str]) -> Reading:
    """What a program would do that is started without a shell."""
    reader = Reader(environment)
    text = " ".join(argv)
    flaw = flaw_of(text.replace("\n", " ")) if argv and argv[0] else "there is no program to run"
    if flaw:
        reader.found.puzzle(flaw, text[:200], None)
        return reader.found.reading()
    words: list[Word] = []
    at = 0
    for part in argv:
        words.append(plain_word(part, at, at + len(part.encode())))
        at += len(part.encode()) + 1
    reader.command(Script(text), words, CommandContext())
    return reader.found.reading()
