"""Walks the tree of a script: commands, pipelines, redirections, here-documents, functions and variables.

Without recursion, so that no nesting is too deep for it. What a single program would do is not known here.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from skills_runtime.safety.guard.calls import NETWORK, CommandContext, Feed, Opener, note_host, note_write
from skills_runtime.safety.guard.facts import Findings, Span
from skills_runtime.safety.guard.known_programs import is_known, program_name, risk_of_variable
from skills_runtime.safety.guard.paths import matching, normal, reading
from skills_runtime.safety.guard.programs import judge_for
from skills_runtime.safety.guard.programs.shells import evaluated_word
from skills_runtime.safety.guard.syntax import OPENED, Bindings, Evaluator, Script, without_counts
from skills_runtime.safety.guard.words import HOLE, Word, names, plain_word, unknown_word

if TYPE_CHECKING:
    from tree_sitter import Node


class Functions:
    """The functions of one script."""

    __slots__ = ("_defined", "_script")

    def __init__(self, script: Script) -> None:
        self._script = script
        self._defined: dict[str, int] = {}
        """Where the definition of each ends, for those that are defined in any case."""
        text = script.text
        if ("()" in text or "function" in text) and "unset" not in text:
            for node in script.root.named_children:
                if node.type == "function_definition":
                    self._defined[self._name(node)] = node.end_byte

    def calls(self, word: Word, node: "Node") -> bool:
        """Whether a command is a call of a function that has been read."""
        end = self._defined.get(word.value or "")
        return end is not None and not _shadows(word.value or "") and node.start_byte >= end

    def judge(self, node: "Node") -> tuple[str, bool]:
        """What is not understood about a definition, and whether it calls itself."""
        name = self._name(node)
        body = self._script.source[node.start_byte : node.end_byte].decode(errors="replace")
        itself = body.replace("()", "", 1).count(name) > 2 or (name == ":" and body.count(":") > 2)
        reason = "a function takes the name of a program" if _shadows(name) else ""
        return reason, itself and self._runs(node, name)

    def _runs(self, node: "Node", name: str) -> bool:
        stack = node.named_children
        while stack:
            inner = stack.pop()
            if inner.type == "command_name" and self._script.written(inner.start_byte, inner.end_byte) == name:
                return True
            stack.extend(inner.named_children)
        return False

    def _name(self, node: "Node") -> str:
        name = node.child_by_field_name("name")
        return self._script.written(name.start_byte, name.end_byte) if name else ""


def _shadows(name: str) -> bool:
    return is_known(name) or judge_for(name) is not None or not name.isidentifier()


WORDS = names(
    """
    word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion number
    brace_expression regex extglob_pattern
    """
)
"""Nodes that become words."""

SILENT = names(
    """
    variable_name special_variable_name test_operator file_descriptor heredoc_start heredoc_end heredoc_content
    string_content
    """
)
"""Nodes in which nothing can be hidden."""

_LOOSE = names("heredoc_body arithmetic_expansion array subscript ERROR expansion string")
"""Nodes in which the parser leaves gaps that are no spaces."""


class WalkState:
    """One script under way: where findings go and what is left to visit."""

    __slots__ = ("bindings", "evaluator", "extra", "found", "functions", "opener", "scene", "script", "stack")

    def __init__(self, opener: Opener, script: Script, environment: Mapping[str, str]) -> None:
        self.opener = opener
        self.found: Findings = opener.found
        self.script = script
        self.bindings = Bindings(script, environment)
        self.evaluator = Evaluator(script, self.bindings, opener.found, self.hand_on)
        self.functions = Functions(script)
        self.stack: list[tuple[Node, CommandContext]] = []
        self.extra: dict[int, list[Word]] = {}
        """Words that stand behind a redirection and belong to a command, by the id of its node."""
        self.scene = CommandContext()
        """What surrounds the node that is visited now."""

    def push(self, nodes: "list[Node]", parent: "Node", scene: CommandContext | None = None) -> None:
        """Put nodes on the stack so that the first is visited first; what lies between them must be space."""
        if parent.type not in _LOOSE:
            end = nodes[0].end_byte if nodes else 0
            for node in nodes:
                start = node.start_byte
                if start > end and self.script.source[end:start].strip(b" \t\n\\"):
                    self.puzzle("a part of the command is not understood", parent)
                end = node.end_byte
        scene = scene or self.scene
        self.stack.extend([(node, scene) for node in reversed(nodes) if node.is_named])

    def hand_on(self, node: "Node") -> None:
        """Visit later what was found inside of a word."""
        if node.type in ("expansion", "simple_expansion"):
            if substring := _SUBSTRING.search(self.text(node)):
                check_sum(self, substring[1], node)
            self.push(node.named_children, node)
        else:
            self.stack.append((node, self.scene))

    def look_at(self, word: Word) -> None:
        """Judge a word that is no argument, but can still become one."""
        judgement = matching(word.shape) if word.glob else reading(word.shape)
        if judgement:
            self.found.worsen(*judgement, *self.place_of(word))

    def puzzle(self, reason: str, node: "Node") -> None:
        """Say that a node is not understood."""
        self.found.puzzle(reason, self.text(node), self.span(node))

    def text(self, node: "Node") -> str:
        """A node as it is written."""
        return self.script.written(node.start_byte, node.end_byte)

    def span(self, node: "Node") -> Span | None:
        """A node's place in the outermost line."""
        return self.script.span(node.start_byte, node.end_byte)

    def place_of(self, word: Word) -> tuple[str, Span | None]:
        """A word as it is written, and where."""
        return self.script.written(word.start, word.end), self.script.span(word.start, word.end)


_SUBSTRING = re.compile(r"^\$\{[\w@*]+(?:\[[^\]]*\])?:([^-=+?].*)\}", re.DOTALL)
"""An expansion that takes a part of a value; where that begins is calculated."""

_TRANSPARENT = names(
    """
    program list subshell compound_statement if_statement elif_clause else_clause while_statement do_group
    negated_command arithmetic_expansion binary_expression unary_expression ternary_expression postfix_expression
    parenthesized_expression c_style_for_statement for_statement case_statement case_item array subscript
    variable_assignments command_name heredoc_body ERROR
    """
)
"""Nodes that only hold others."""

_JOINED_LINES = re.compile(r"\S\\\n\S|\n[ \t]*\\\n")
"""Where the parser and the shell do not agree on what a backslash at the end of a line does."""
_MAX_SEGMENTS = 64


def read_script(opener: Opener, script: Script, scene: CommandContext, environment: Mapping[str, str]) -> None:
    """Visit every node that matters, and hand each simple command to the opener."""
    ground = WalkState(opener, script, environment)
    root = script.root
    ground.stack.append((root, scene))
    while ground.stack:
        node, ground.scene = ground.stack.pop()
        if not ground.found.spend():
            return
        kind = node.type
        if visit := VISITS.get(kind):
            visit(ground, node)
        elif kind in _TRANSPARENT:
            ground.push(node.children, node)
        elif kind in WORDS:
            words = ground.evaluator.words(node)
            for word in () if ground.scene.tested else words:
                ground.look_at(word)
        elif node.is_named and kind not in SILENT:
            ground.puzzle("a part of the command is not understood", node)
    if "\\\n" in script.text and _JOINED_LINES.search(script.text):
        ground.puzzle("a word goes on in the next line", root)
    if root.has_error:
        _salvage(ground, scene)


def _salvage(ground: WalkState, scene: CommandContext) -> None:
    """Of a text with errors, judge whatever could be a command."""
    text, root = ground.script.text, ground.script.root
    ground.puzzle("the command has a syntax error", root)
    if re.search(r"/dev/(?:tcp|udp)/", text):
        ground.found.worsen("high", "connects over the network", text, ground.span(root))
    for segment in re.split(r"[;&|\n()`]|<<+-?", text)[:_MAX_SEGMENTS]:
        texts = re.sub(r"[{},]", " ", re.sub(r"['\"\\]", "", segment)).split()
        whole = len(ground.script.source)
        words = [
            unknown_word(end=whole) if "$" in part else plain_word(part, 0, whole) for part in texts[:_MAX_SEGMENTS]
        ]
        if words and ground.found.spend(len(words)):
            ground.opener.command(ground.script, words, scene.deeper())


_REDIRECTS = ("file_redirect", "herestring_redirect")
_MAX_STAGES = 16
_EXPANDED = re.compile(rb"[$`](?!')")


def command(ground: WalkState, node: "Node") -> None:
    """One simple command that stands alone."""
    _run(ground, node, ground.extra.pop(node.id, []), ground.scene)


def _run(ground: WalkState, node: "Node", extra: list[Word], scene: CommandContext) -> None:
    """One simple command: variables, a name, arguments, and redirections between them."""
    words: list[Word] = []
    end = -1
    for child in node.children:
        gap = ground.script.source[end : child.start_byte] if end >= 0 and child.type not in _REDIRECTS else b" "
        if not gap or b"\n" in gap.replace(b"\\\n", b""):  # the shell, too, must see one space between two words
            ground.puzzle("words touch each other", node)
        end = child.end_byte
        if child.type == "variable_assignment":
            assignment(ground, child)
        elif child.type in _REDIRECTS:
            scene, more = redirect(ground, child, scene)
            words.extend(more)
            end = -1
        elif child.type == "command_name":
            words.extend(_name(ground, child))
        else:
            words.extend(ground.evaluator.words(child))
    words.extend(extra)
    if words and not ground.functions.calls(words[0], node):
        ground.opener.command(ground.script, words, scene)


def _name(ground: WalkState, node: "Node") -> list[Word]:
    if _EXPANDED.search(ground.script.source, node.start_byte, node.end_byte):
        ground.puzzle("which program runs is only known when it runs", node)
    return ground.evaluator.words(node.children[0] if node.child_count == 1 else node)


def redirected(ground: WalkState, node: "Node") -> None:
    """A command with redirections behind it; more arguments may follow those."""
    body = node.child_by_field_name("body")
    scene, extra = ground.scene, list[Word]()
    for child in node.children:
        if child == body:
            continue
        if child.type == "heredoc_redirect":
            scene = heredoc(ground, child, body, scene)
        elif child.type in _REDIRECTS:
            scene, more = redirect(ground, child, scene)
            extra.extend(more)
        elif child.is_named:
            ground.stack.append((child, scene))
    if body is None:
        return
    if body.type == "command":
        _run(ground, body, extra, scene)
        return
    last = _last_command(body)
    if extra and last is None:
        ground.puzzle("words follow a redirection", node)
    elif extra and last is not None:
        ground.extra[last.id] = extra
    ground.stack.append((body, scene))


def _last_command(node: "Node") -> "Node | None":
    """The command that a redirection behind several belongs to."""
    while node.type in ("list", "pipeline", "negated_command") and node.named_children:
        node = node.named_children[-1]
    return node if node.type == "command" else None


def lone_redirect(ground: WalkState, node: "Node") -> None:
    """A redirection without a command."""
    redirect(ground, node, ground.scene)


def pipeline(ground: WalkState, node: "Node") -> None:
    """Commands that feed each other."""
    stages = node.named_children
    pushed: list[tuple[Node, CommandContext]] = []
    for index, stage in enumerate(stages):
        scene = ground.scene
        if index > _MAX_STAGES:
            scene = fed(scene, Feed(None, (None,)))
        elif index:
            feed = partial(feed_of, ground.script, stages[:index], ground.bindings)
            scene = msgspec.structs.replace(scene, feed=feed)
        if index + 1 < len(stages):
            scene = msgspec.structs.replace(scene, heard=True)
        pushed.append((stage, scene))
    ground.stack.extend(reversed(pushed))


def substitution(ground: WalkState, node: "Node") -> None:
    """Commands inside of a word."""
    written = ground.script.source[node.start_byte : node.end_byte]
    if written[:1] == b"`" and b"\\" in written:
        ground.puzzle("backslashes inside of backquotes are not read", node)
    scene = msgspec.structs.replace(ground.scene, heard=True, tested=False)
    if written[:2] == b">(":
        scene = fed(scene, Feed(None, (None,)))
    ground.push(node.children, node, scene)


def function(ground: WalkState, node: "Node") -> None:
    """A function: its body is read where it is defined."""
    reason, calls_itself = ground.functions.judge(node)
    if reason:
        ground.puzzle(reason, node)
    if calls_itself:
        ground.found.worsen("high", "a function calls itself", ground.text(node), ground.span(node))
    name = node.child_by_field_name("name")
    ground.push([child for child in node.named_children if child != name], node)


def declaration(ground: WalkState, node: "Node") -> None:
    """`export` and its like, which the grammar knows as something of their own."""
    words: list[Word] = []
    for child in node.children:
        if child.type == "variable_assignment":
            value = assignment(ground, child)
            name = ground.text(child).partition("=")[0]
            known = None if value is None or value.value is None else f"{name}={value.value}"
            shape = f"{name}={value.shape if value else ''}"
            words.append(Word(known, shape, child.start_byte, child.end_byte, bool(value and value.built)))
        elif child.is_named and child.type != "variable_name":
            words.extend(ground.evaluator.words(child))
        else:
            words.append(plain_word(ground.text(child), child.start_byte, child.end_byte))
    ground.opener.command(ground.script, words, ground.scene)


def assignment(ground: WalkState, node: "Node") -> Word | None:
    """Judge a variable that is set, and give back its value."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and name.type == "subscript":
        ground.stack.append((name, ground.scene))
    word: Word | None = plain_word("", node.end_byte, node.end_byte) if value is None else None
    if value is not None and value.type == "array":
        ground.push(value.named_children, value)
    elif value is not None:
        words = ground.evaluator.words(value)
        word = words[0] if len(words) == 1 else None
    if risk := risk_of_variable(ground.text(name) if name else "", word.value if word else None):
        ground.found.worsen(*risk, ground.text(node), ground.span(node))
    if word:
        ground.look_at(word)
    return word


def lone_assignment(ground: WalkState, node: "Node") -> None:
    """A variable that is set without a command."""
    assignment(ground, node)


_CALCULATES = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s|\s-[vR]\s")


def test(ground: WalkState, node: "Node") -> None:
    """`[ … ]` and `[[ … ]]`; only the first is a program, and only the second calculates."""
    if node.children[0].type == "[":
        bracket = plain_word("[", node.start_byte, node.start_byte + 1)
        ground.opener.command(ground.script, [bracket], ground.scene)
        if word := evaluated_word(_words_between(ground, node)):
            ground.found.puzzle("a test may evaluate what is only known when it runs", *ground.place_of(word))
    elif _CALCULATES.search(ground.text(node)):
        check_sum(ground, ground.text(node).removeprefix("[["), node)
    ground.push(node.children, node, msgspec.structs.replace(ground.scene, tested=True))


def _words_between(ground: WalkState, node: "Node") -> list[Word]:
    """The words of a test in their order; commands inside of them are read elsewhere."""
    evaluator = Evaluator(ground.script, ground.bindings, Findings(), lambda _: None)
    words: list[Word] = []
    stack = list(reversed(node.children[1:-1]))
    while stack:
        inner = stack.pop()
        if inner.type in WORDS or inner.type in OPENED:
            words.extend(evaluator.words(inner))
        elif inner.children:
            stack.extend(reversed(inner.children))
        else:
            words.append(plain_word(ground.text(inner), inner.start_byte, inner.end_byte))
    return words


def arithmetic(ground: WalkState, node: "Node") -> None:
    """`$(( … ))`, `(( … ))` and subscripts: code in the value of a variable is carried out."""
    if node.type == "subscript":
        index = node.child_by_field_name("index")
        if index and ground.text(index) not in ("@", "*"):
            check_sum(ground, ground.text(index), node)
    elif node.type != "compound_statement" or node.children[0].type == "((":
        body = node.child_by_field_name("body")
        text = ground.script.written(node.start_byte, body.start_byte if body else node.end_byte)
        check_sum(ground, text.removeprefix("$(("), node)
    ground.push(node.children, node)


def check_sum(ground: WalkState, text: str, node: "Node") -> None:
    """Judge a text that the shell calculates."""
    if not ground.bindings.calculates(without_counts(text)):
        ground.puzzle("calculates with a text that may hold code", node)


def loop(ground: WalkState, node: "Node") -> None:
    """`for` and `select`: the variable is set like by an assignment."""
    name = node.child_by_field_name("variable")
    if name and (risk := risk_of_variable(ground.text(name), None)):
        ground.found.worsen(*risk, ground.text(name), ground.span(name))
    ground.push(node.children, node)


def comment(ground: WalkState, node: "Node") -> None:
    """A comment, if the shell agrees that it is one."""
    before = ground.script.source[node.start_byte - 1 : node.start_byte] if node.start_byte else b""
    if before and before not in b" \t\n;&|()":
        ground.puzzle("a comment is not understood", node)


VISITS: Mapping[str, Callable[[WalkState, "Node"], None]] = {
    "command": command,
    "redirected_statement": redirected,
    "pipeline": pipeline,
    "command_substitution": substitution,
    "process_substitution": substitution,
    "function_definition": function,
    "declaration_command": declaration,
    "unset_command": declaration,
    "variable_assignment": lone_assignment,
    "test_command": test,
    "arithmetic_expansion": arithmetic,
    "subscript": arithmetic,
    "compound_statement": arithmetic,
    "c_style_for_statement": arithmetic,
    "for_statement": loop,
    "comment": comment,
    "file_redirect": lone_redirect,
    "herestring_redirect": lone_redirect,
}


_READS = frozenset({"<", "<&", "<&-", ">&-"})


def redirect(ground: WalkState, node: "Node", scene: CommandContext) -> tuple[CommandContext, list[Word]]:
    """Judge one redirection; gives back the scene behind it, and words that belong to the command."""
    words: list[Word] = []
    operator = ""
    for child in node.children:
        if child.type == "file_descriptor":
            continue
        if not child.is_named and not operator:
            operator = child.type
        else:
            words.extend(ground.evaluator.words(child))
    if not words:
        return scene, []
    target, more = words[0], words[1:]
    if operator == "<<<":
        ground.look_at(target)
        return fed(scene, Feed(target.value, (None,), (node.start_byte, node.end_byte))), more
    if operator in _READS:
        return _read(ground, operator, target, scene), more
    if operator != ">&" or not (target.shape.isdigit() or target.shape == "-"):
        note_write(ground.found, target, *ground.place_of(target))
    return scene, more


def fed(scene: CommandContext, feed: Feed) -> CommandContext:
    """The same scene, with something on the standard input."""
    return msgspec.structs.replace(scene, feed=lambda: feed)


def _read(ground: WalkState, operator: str, target: Word, scene: CommandContext) -> CommandContext:
    if operator != "<" and not target.shape.strip("0123456789-"):
        return scene
    ground.look_at(target)
    if not target.process:
        ground.found.reads.append(target.value)
        if target.value is None and target.shape != HOLE:
            ground.found.reads.append(target.shape.replace(HOLE, "*"))
    if normal(target.shape).startswith(NETWORK):
        note_host(ground.found, normal(target.shape))
        ground.found.worsen("high", "connects over the network", *ground.place_of(target))
    if target.built:
        ground.found.puzzle("reads a file that is only known when it runs", *ground.place_of(target))
    known = target.value is not None and not target.process
    return fed(scene, Feed(None, ("cat",) if known else (None,), (target.start, target.end)))


def heredoc(ground: WalkState, node: "Node", body: "Node | None", scene: CommandContext) -> CommandContext:
    """Read a here-document, and the rest of the line that its grammar holds."""
    document = heredoc_of(node, ground.script)
    if not document.understood:
        ground.puzzle("a here-document is not understood", node)
    for code in document.backquoted:
        ground.opener.code(ground.script, code, document.place, scene.deeper())
    feed = Feed(document.text, (None,), document.place)
    copies = body is not None and body.type == "command" and body.text == b"cat"
    passed = fed(scene, feed if copies else Feed(None, (None,), document.place))
    for child in node.children:
        if child.type == "pipeline":
            ground.push(child.named_children, child, passed)
        elif child.type in ("file_redirect", "herestring_redirect"):
            _, more = redirect(ground, child, scene)
            if more:
                ground.puzzle("words follow a redirection", child)
        elif child.type in WORDS:
            ground.puzzle("words follow a redirection", node)
        elif child.is_named and child.type not in SILENT:
            ground.stack.append((child, scene))
    return fed(scene, feed)


_MAX_NODES = 400
_WRAPPERS = frozenset({"command", "builtin", "time", "env", "nohup", "exec"})


def feed_of(script: Script, stages: "list[Node]", bindings: Bindings) -> Feed:
    """What the stages of a pipeline write: their programs, and the text when one `echo` is all there is."""
    evaluator = Evaluator(script, bindings, Findings(), lambda _: None)  # what is inside is read where it stands
    programs: list[str | None] = []
    place = (stages[0].start_byte, stages[-1].end_byte)
    stack, seen = list(stages), 0
    while stack:
        node = stack.pop()
        seen += 1
        if seen > _MAX_NODES:
            return Feed(None, (None,), place)
        if node.type == "command" and (name := node.child_by_field_name("name")):
            words = evaluator.words(name)
            known = words[0].value if words else None
            programs.append(None if known is None or known in _WRAPPERS else program_name(known))
        stack.extend(node.named_children)
    only = stages[0] if len(stages) == 1 and stages[0].type == "command" else None
    return Feed(
        _echoed(only, evaluator) if only and programs[:1] in (["echo"], ["printf"]) else None, tuple(programs), place
    )


def _echoed(node: "Node", evaluator: Evaluator) -> str | None:
    words: list[Word] = []
    for argument in node.children_by_field_name("argument"):
        words.extend(evaluator.words(argument))
    name = node.child_by_field_name("name")
    printing = name is not None and name.text is not None and name.text.endswith(b"printf")
    texts = [word.value for word in words]
    if not printing and texts[:1] == ["-n"]:
        texts = texts[1:]
    if any(text is None or "\\" in text.removesuffix("\\n") for text in texts) or (
        texts and (texts[0] or "").startswith("-")
    ):
        return None
    if not printing:
        return " ".join(text or "" for text in texts)
    if len(texts) == 1 and "%" not in (texts[0] or ""):
        return (texts[0] or "").removesuffix("\\n")
    return texts[1] if len(texts) == 2 and texts[0] in ("%s", "%s\\n") else None


_MISSED = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[\w({\[@*#?$!-])")
_BACKQUOTED = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*)`", re.DOTALL)
_DOLLARED = re.compile(r"\$\(([^()]*)\)")
_MAX_CODES = 64


class Heredoc(msgspec.Struct, frozen=True):
    """The text that a command is fed, as far as it is known."""

    text: str | None
    place: tuple[int, int]
    understood: bool = True
    backquoted: tuple[str, ...] = ()
    """Commands in the old form of a substitution, which the grammar does not see here."""


def heredoc_of(node: "Node", script: Script) -> Heredoc:
    """Read one here-document; the parser's idea of its end must be the shell's."""
    found = {child.type: child for child in node.children}
    start, body, end = found.get("heredoc_start"), found.get("heredoc_body"), found.get("heredoc_end")
    if start is None or end is None:
        return _lost(script, node.start_byte)
    written = script.written(start.start_byte, start.end_byte)
    delimiter = re.sub(r"\\(.)|['\"]", lambda match: match[1] or "", written)
    first = script.source.find(b"\n", start.end_byte) + 1
    raw = script.written(first, end.start_byte)
    lines = raw.split("\n")
    if "<<-" in found:
        lines = [line.lstrip("\t") for line in lines]
    # What stands before the delimiter on its own line can only be tabs, and no line before it may be the delimiter.
    fits = lines[-1] == "" and delimiter not in lines[:-1] and first > 0 and (body is None or body.start_byte >= first)
    last = script.source.find(b"\n", end.start_byte)
    rest = script.source[end.start_byte : last if last >= 0 else None].decode(errors="replace")
    place = (first, end.start_byte)
    if not fits or rest != delimiter:
        return _lost(script, first)
    if written != delimiter:
        return Heredoc("\n".join(lines), place)
    return _expanded(body, script, "\n".join(lines), place)


def _lost(script: Script, start: int) -> Heredoc:
    """A here-document whose end is not certain: whatever follows may be carried out as a substitution."""
    end = len(script.source)
    text = script.written(start, end)
    codes = (*_BACKQUOTED.findall(text), *_DOLLARED.findall(text))
    return Heredoc(None, (start, end), understood=False, backquoted=codes[:_MAX_CODES])


def _expanded(body: "Node | None", script: Script, text: str, place: tuple[int, int]) -> Heredoc:
    """A here-document whose substitutions the shell carries out."""
    opened = [child for child in body.named_children if child.type in OPENED] if body else []
    literal, at = "", place[0]
    for child in opened:
        literal += script.written(at, child.start_byte) + " "
        at = child.end_byte
    literal += script.written(at, place[1])
    backquoted = tuple(re.sub(r"\\([`\\$])", r"\1", code) for code in _BACKQUOTED.findall(literal))
    understood = not _MISSED.search(literal)
    known = None if opened or not understood else re.sub(r"\\([$`\\\n])", r"\1", text)
    return Heredoc(known, place, understood, backquoted)
