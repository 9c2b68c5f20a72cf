"""ripgrep as a sieve: what it leaves out could not have matched, and without it everything is as it was."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.errors import ToolError
from skills_runtime.ports import ProcessRequest, Sandbox, SandboxPlan
from skills_runtime.sandbox import NoSandbox, UnavailableSandbox
from skills_runtime.tools import search as ripgrep
from skills_runtime.tools.builtin import GrepFiles
from skills_runtime.tools.search import RIPGREP_PATHS, Pattern, weaken_pattern
from tests.support.tools import PATH, Workshop, data_of


class Watching:
    """A fence that lets everything pass and remembers what was started."""

    def __init__(self) -> None:
        self.started: list[tuple[str, ...]] = []
        self._unfenced = NoSandbox({"PATH": PATH})

    def plan(self, request: ProcessRequest) -> SandboxPlan:
        """Note it."""
        self.started.append(request.argv)
        return self._unfenced.plan(request)


@pytest.fixture(autouse=True)
def installed() -> None:
    """The real program: without it nothing here would prove anything."""
    assert any(os.access(place, os.X_OK) for place in RIPGREP_PATHS), (
        "ripgrep is not installed: `scripts/setup` does it"
    )


def workshop_in(place: Path, fence: Sandbox | None = None) -> Workshop:
    workshop = Workshop(place, sandbox=fence or Watching())
    workshop.write("a.py", "import os\nclass Réseau:\n    pass\n")
    workshop.write("b/c.py", "IMPORT OS\r\n\tx = [1]\r\n")
    workshop.write("b/d.txt", b"\xff\xfe broken \x80 bytes, import\n")
    workshop.write("b/e.bin", b"import os\0\1\2")
    workshop.write("b/-f.txt", "a+b (c) {d} $e\nstraße K\n")
    workshop.write("empty.txt", "")
    return workshop


async def grep(workshop: Workshop, pattern: str, *, many: int = 1, **more: Any) -> Mapping[str, Any]:
    return data_of(await workshop.call(GrepFiles(prefilter_min_files=many), pattern=pattern, **more))


PATTERNS = [
    "import", "import os$", "^import", r"\bos\b", "(?i)import os", "(?i)class", "(?i)STRASSE k", "(?i)k$", "R.seau",
    "é", r"R\wseau", "Ré?seau", r"a\+b", r"\(c\)", r"\{d\}", r"\$e", "x = .1.", "[0-9]", r"\[1\]", "(import|class) ",
    "bytes, im", "br.*en", "x{2}", "s{0,3}", "nothing like this", "^$", "$", "x*", r"\s+pass", r"[^a-z]s",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_the_same_is_found_with_and_without_it(tmp_path: Path, pattern: str) -> None:
    fence = Watching()
    workshop = workshop_in(tmp_path, fence)
    without = await grep(workshop, pattern, many=1000)
    assert not fence.started
    found = await grep(workshop, pattern)
    assert fence.started, "it was asked"
    assert (found["files"], found["matches"], found["complete"]) == (
        without["files"], without["matches"], without["complete"],
    )  # fmt: skip
    assert (found["sifted_by"], found["sandbox"]["effective"]) == ("ripgrep", "none")


async def test_files_that_cannot_match_are_not_read(tmp_path: Path) -> None:
    workshop = workshop_in(tmp_path)
    found = await grep(workshop, "class R")
    assert [record.path for record in workshop.records if record.op == "read"] == ["a.py"]
    assert (found["files"], found["searched"]) == (["a.py"], 6)


async def test_it_is_given_only_what_may_be_searched(tmp_path: Path) -> None:
    fence = Watching()
    workshop = workshop_in(tmp_path, fence)
    workshop.write(".gitignore", "ignored/\n")
    workshop.write("ignored/x.py", "import")
    workshop.write(".hidden/x.py", "import")
    workshop.write(".env", "import")
    (workshop.root / "link.py").symlink_to(workshop.root / "a.py")
    await grep(workshop, "import")
    (argv,) = fence.started
    names = argv[argv.index("--") + 1 :]
    assert sorted(os.path.relpath(name, workshop.root) for name in names) == [
        "a.py", "b/-f.txt", "b/c.py", "b/d.txt", "b/e.bin", "empty.txt",
    ]  # fmt: skip


async def test_a_path_means_what_it_means_to_the_other_file_tools(tmp_path: Path) -> None:
    workshop = workshop_in(tmp_path)
    workshop.write("deliverables/same.txt", "nothing")
    (tmp_path / "run" / "deliverables" / "same.txt").write_text("import os")
    assert (await grep(workshop, "import", path="deliverables"))["files"] == ["deliverables/same.txt"]


async def test_names_that_do_not_fit_one_command_line_are_given_to_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fence = Watching()
    workshop = workshop_in(tmp_path, fence)
    monkeypatch.setattr(ripgrep, "MAX_ARGUMENT_BYTES", 10)
    assert (await grep(workshop, "import"))["files"] == ["a.py", "b/d.txt"]
    assert len(fence.started) == 6


@pytest.mark.parametrize("pattern", [r"\d+\x41", r"\pL", "(?s)a.b", "(?P<name>a)", "[[:alpha:]]", r"\Qa.b\E", "a\nb"])
async def test_it_is_not_asked_about_patterns_that_may_mean_something_else(tmp_path: Path, pattern: str) -> None:
    assert weaken_pattern(pattern) is None
    fence = Watching()
    await grep(workshop_in(tmp_path, fence), pattern)
    assert not fence.started


async def test_a_pattern_that_is_none_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    fence = Watching()
    with pytest.raises(ToolError, match="not a regular expression"):
        await grep(workshop_in(tmp_path, fence), "(")
    assert not fence.started


async def test_where_no_process_may_be_started_every_file_is_searched(tmp_path: Path) -> None:
    found = await grep(workshop_in(tmp_path, UnavailableSandbox()), "import")
    assert found["files"] == ["a.py", "b/d.txt"]
    assert "sifted_by" not in found


@pytest.mark.parametrize("script", ["exit 2", "kill -9 $$", "echo half; exit 3", "head -c 4000000 /dev/zero", None])
async def test_a_sieve_that_fails_lets_every_file_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None
) -> None:
    program = tmp_path / "rg"
    if script is not None:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(ripgrep, "RIPGREP_PATHS", (str(program),))
    workshop = workshop_in(tmp_path / "place")
    found = await grep(workshop, "import")
    assert "sifted_by" not in found
    assert found["files"] == ["a.py", "b/d.txt"]


async def test_a_sieve_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(ripgrep, "RIPGREP_PATHS", (str(program),))
    workshop = workshop_in(tmp_path / "place")
    assert await ripgrep.prefilter(["a.py"], "import", workshop, seconds=0.05) is None


LETTERS = st.sampled_from(["a", "b", "K", "s", "é", "ß", "\u212a", " ", "."])
ATOMS = st.sampled_from([*"abKsé .", r"\w", r"\W", r"\d", r"\s", r"\b", "^", "$", "[ab]", "[^a]", r"\.", "[é-ö]"])
COUNTS = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])
WORDS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda both: f"(?:{both[0]}|{both[1]})"),
        st.tuples(inner, COUNTS).map(lambda both: f"({both[0]}){both[1]}"),
    ),
    max_leaves=6,
)


def _in_bytes(pattern: str) -> Any:
    """The weak pattern as ripgrep understands it, in an engine that can be asked a thousand times."""
    engine = cast("Any", re2)
    options = engine.Options()
    options.encoding = engine.Options.Encoding.LATIN1
    return engine.compile(pattern.removeprefix("(?-u)").encode("latin-1"), options)


@settings(max_examples=300, deadline=None)
@given(WORDS, st.booleans(), st.lists(LETTERS, max_size=8).map("".join))
def test_whatever_matches_passes_the_sieve(words: str, folded: bool, text: str) -> None:
    pattern = f"(?i){words}" if folded else words
    weak = weaken_pattern(pattern)
    assert weak is not None
    searched = Pattern(pattern)
    data = text.encode()
    if any(list(searched.hits(piece)) for piece in searched.pieces(data)):
        assert _in_bytes(weak).search(data), (pattern, weak, data)
