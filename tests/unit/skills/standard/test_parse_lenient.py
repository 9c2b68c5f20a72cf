"""Leniently: everything that real skills do loads, and what was odd is told."""

import pytest

from skills_runtime.skills.standard import Parsed, Properties, allowed_tools, parse_skill

BODY = "# PDF tools\n\nReads PDF files.\nAll of them.\n\nMore.\n"


def parsed(text: str | bytes, *, name: str | None = "pdf-tools") -> Parsed:
    data = text if isinstance(text, bytes) else text.encode()
    return parse_skill(data, mode="lenient", directory_name=name)


def loaded(text: str | bytes, *, name: str | None = "pdf-tools") -> Properties:
    found = parsed(text, name=name)
    assert found.skill is not None, found.diagnostics
    return found.skill


def warnings(text: str | bytes, *, name: str | None = "pdf-tools") -> list[str]:
    return [one.code for one in parsed(text, name=name).diagnostics if one.severity == "warning"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (b"\xef\xbb\xbf---\nname: pdf-tools\ndescription: D\n---\nb", []),
        (b"---\r\nname: pdf-tools\r\ndescription: D\r\n---\r\nb", []),
        (b"---\rname: pdf-tools\rdescription: D\r---\rb", []),
        (b"---  \nname: pdf-tools\ndescription: D\n---\t\nb", []),
        (b"---\n{name: pdf-tools, description: D, tags: [a, b]}\n---\nb", []),
        (b"---\nname: pdf-tools\ndescription: D\n---", []),
        (b"\n\n---\nname: pdf-tools\ndescription: D\n---\nb", ["frontmatter_moved"]),
        (b"<!-- Copyright -->\n---\nname: pdf-tools\ndescription: D\n---\nb", ["frontmatter_moved"]),
        (b"---\nname: pdf-tools\ndescription: D\n-----\nb", ["frontmatter_fence"]),
        (b"---\nname: pdf-tools\ndescription: D\n...\nb", ["frontmatter_fence"]),
        (b"---\nname: pdf-tools\ndescription: D\n ---\nb", ["frontmatter_fence"]),
        (b"---\nname: pdf-tools\ndescription: D\n---# Title\nb", ["frontmatter_fence"]),
        (b"-----\nname: pdf-tools\ndescription: D\n---\nb", ["frontmatter_fence"]),
        (b"```markdown\n---\nname: pdf-tools\ndescription: D\n---\nb\n```", ["frontmatter_moved"]),
        (b"---\nname: pdf-tools\ndescription: D\nby: Jos\xe9\n---\nb", ["not_utf8"]),
        (b"---\nname: pdf-tools\ndescription: D\nversion: 1\ntags: [a]\nhooks: {a: {b: c}}\n---\n", []),
        (b"---\nname: pdf-tools\ndescription: D\nmetadata: {a: {b: [c]}}\ncompatibility:\n---\n", []),
        (b"---\nname: pdf-tools\nname: pdf-tools\ndescription: D\n---\n", ["duplicate_key"]),
        (b"---\nName: pdf-tools\nDESCRIPTION: D\n---\n", ["field_spelling", "field_spelling"]),
        (b"---\ndescription: D\n---\n", ["name_taken_from_directory"]),
        (b"---\nname:\ndescription: D\n---\n", ["name_taken_from_directory"]),
        (b"---\nname: pdf-tools\ndescription:\n- D\n---\n", ["description_type"]),
        (b"---\nname: pdf-tools\nmetadata:\n\tauthor: A\ndescription: D\n---\n", []),
        (b"---\nname:pdf-tools\ndescription: D\n---\n", []),
        (b"---\nname: pdf-tools\ndescription: D\nargument-hint: [file] [mode]\n---\n", ["yaml_repaired"]),
        (b"---\nname: pdf-tools\ndescription: D\npaths: **/*.ts\n---\n", ["yaml_repaired"]),
        (b"---\nname: pdf-tools\ndescription: D\nicon: @pdf\nuse: `x`\n---\n", ["yaml_repaired", "yaml_repaired"]),
        (b"---\nname: pdf-tools\ndescription: D\nmetadata:\n  when: a: b\n---\n", ["yaml_repaired"]),
        (b"---\nname: pdf-tools\ndescription: D\nbell: \x07\n---\n", []),
        (b"---\nname: pdf-tools\ndescription: D\nbad: !!python/object/apply:os.system [x]\n---\n", []),
    ],
)
def test_an_oddity_does_no_harm_and_is_reported(text: bytes, codes: list[str]) -> None:
    skill = loaded(text)
    assert (skill.name, skill.description) == ("pdf-tools", "D")
    assert warnings(text) == codes


@pytest.mark.parametrize(
    ("written", "description"),
    [
        ("Use when: asked", "Use when: asked"),
        ("Reads: a: b # c", "Reads: a: b # c"),
        ("one --- two", "one --- two"),
        ("Use when:\n  the user: asks\n  for it", "Use when: the user: asks for it"),
        ("\nText on the next line, not indented", "Text on the next line, not indented"),
        ("|\nText, not indented", "Text, not indented"),
        (">\n  folded: a\n  b", "folded: a b"),
        ('"Reads" and "writes"', '"Reads" and "writes"'),
        ('"Say "hi" to all"', 'Say "hi" to all'),
        ("'It's here'", "It's here"),
        ("[Beta] Reads things", "[Beta] Reads things"),
        ("*Reads* things", "*Reads* things"),
        ("@user reads", "@user reads"),
        ("`reads` things", "`reads` things"),
        ("%reads", "%reads"),
        ("- reads: things", "- reads: things"),
    ],
)
def test_a_description_is_the_text_that_was_meant(written: str, description: str) -> None:
    skill = loaded(f"---\nname: pdf-tools\ndescription: {written}\nlicense: MIT\n---\n")
    assert (" ".join(skill.description.split()), skill.license) == (description, "MIT")


def test_only_the_broken_value_is_taken_as_text_and_its_line_is_reported() -> None:
    found = parsed("---\nname: pdf-tools\nmetadata: {a: [b]}\ndescription: a: b\ntags:\n  - x\n---\n")
    assert found.skill is not None
    assert found.skill.other == {"metadata": {"a": ["b"]}, "tags": ["x"]}
    assert [one.line for one in found.diagnostics if one.code == "yaml_repaired"] == [4]


@pytest.mark.parametrize(
    ("name", "directory", "goes_by", "codes"),
    [
        ("pdf-tools", "other", "pdf-tools", ["name_directory_mismatch"]),
        ("pdf_tools", "pdf_tools", "pdf_tools", ["name_invalid_characters"]),
        ("PDF Tools", "pdf-tools", "pdf-tools", ["name_not_lowercase", "name_invalid_characters", "name_changed"]),
        ("PDFTools", "pdftools", "pdftools", ["name_not_lowercase", "name_changed"]),
        ("plugin:pdf", "plugin-pdf", "plugin-pdf", ["name_invalid_characters", "name_changed"]),
        ("../../etc", "etc", "etc", ["name_invalid_characters", "name_changed"]),
        ("!!!", "pdf-tools", "pdf-tools", ["name_invalid_characters", "name_changed"]),
        ("x" * 70, "x" * 64, "x" * 64, ["name_too_long", "name_changed"]),
        ("[a]", "pdf-tools", "pdf-tools", ["name_type", "name_changed"]),
        ("技能", "技能", "技能", []),
        ("a", "a", "a", []),
    ],
)
def test_a_skill_goes_by_a_name_that_can_be_used(name: str, directory: str, goes_by: str, codes: list[str]) -> None:
    text = f"---\nname: {name if name.startswith('[') else repr(name)}\ndescription: D\n---\n"
    assert loaded(text, name=directory).name == goes_by
    assert warnings(text, name=directory) == codes


@pytest.mark.parametrize(
    ("body", "description"),
    [
        (BODY, "Reads PDF files. All of them."),
        ("# Only a heading\n", "Only a heading"),
        ("<!-- not this -->\n\n```\nnor this\n```\n![nor](this)\n\nThis.\n", "This."),
        ("x" * 3000, "x" * 1024),
        ("caf\u00e9 " + "x" * 10, "caf\u00e9 " + "x" * 10),
    ],
)
def test_a_missing_description_is_taken_from_the_body(body: str, description: str) -> None:
    text = f"---\nname: pdf-tools\n---\n{body}"
    assert loaded(text).description == description
    assert warnings(text) == ["description_taken_from_body"]


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("", "a", "frontmatter_missing"),
        ("# No front matter\n\nText.\n", "a", "frontmatter_missing"),
        ("---\nname: a\ndescription: d\n", "a", "frontmatter_unclosed"),
        ("---\nname: a\n---\n", "a", "description_missing"),
        ("---\ndescription: d\n---\n", None, "name_missing"),
        ("---\nname: '!!'\ndescription: d\n---\n", None, "name_missing"),
        ("---\njust text\n---\n", "a", "not_a_mapping"),
        ("---\n- a\n- b\n---\n", "a", "not_a_mapping"),
        ("---\nname: [\n---\nText.\n", "a", "description_missing"),
        ("---\n: :\n---\nText.\n", "a", "yaml_invalid"),
        ("---\nname: a\ndescription: " + "[" * 66_000 + "\n---\n", "a", "frontmatter_too_long"),
    ],
)
def test_what_cannot_be_a_skill_is_one_error(text: str | bytes, name: str | None, code: str) -> None:
    found = parsed(text, name=name)
    assert found.skill is None
    assert [one.code for one in found.diagnostics if one.severity == "error"] == [code]


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        ("Read Write", ("Read", "Write")),
        ("Read, Write,Edit", ("Read", "Write", "Edit")),
        (["Read", "Write"], ("Read", "Write")),
        (["Read, Write", "Edit"], ("Read", "Write", "Edit")),
        ("Bash(git add:*, git commit:*), Read", ("Bash(git add:*, git commit:*)", "Read")),
        ("Bash(git:*) Bash(jq:*) Read Read", ("Bash(git:*)", "Bash(jq:*)", "Read")),
        ("Bash(echo (a b)) Read", ("Bash(echo (a b))", "Read")),
        ("Bash(unclosed Read", ("Bash(unclosed", "Read")),
        ("", ()),
        ({"a": "b"}, ()),
        ([["Read"], {"a": "b"}, "Edit"], ("Edit",)),
    ],
)
def test_every_spelling_of_a_list_of_tools_is_understood(value: object, tools: tuple[str, ...]) -> None:
    assert allowed_tools(value) == tools


@pytest.mark.parametrize("fence", ["---\n", "---\r\n", "-----\n", " ---\n", "..." + "\n", "---"])
def test_what_stands_behind_the_front_matter_is_the_body(fence: str) -> None:
    data = f"---\nname: pdf-tools\ndescription: D\n{fence}# Title\n".encode()
    assert data[parsed(data).body_start :] == b"# Title\n"
