"""Strictly: a verdict for every rule of the Agent Skills specification, and the line it is about."""

import pytest

from skills_runtime.skills.standard import Diagnostic, parse_skill
from skills_runtime.skills.standard.diagnostics import RULES
from tests.support import ROOT

VALID = "name: pdf-tools\ndescription: Reads PDF files. Use it for forms.\n"


def findings(front: str, *, name: str | None = "pdf-tools", body: str = "# Body\n") -> tuple[Diagnostic, ...]:
    return parse_skill(f"---\n{front}---\n{body}".encode(), mode="strict", directory_name=name).diagnostics


def errors(front: str, *, name: str | None = "pdf-tools") -> list[str]:
    return [one.code for one in findings(front, name=name) if one.severity == "error"]


def named(name: str) -> list[str]:
    return errors(f"name: {name}\ndescription: d\n", name=name)


@pytest.mark.parametrize(
    "front",
    [
        VALID,
        VALID.replace("\n", "\r\n"),
        "description: d\nname: pdf-tools\n",
        "{name: pdf-tools, description: d}\n",
        "'name': \"pdf-tools\"\ndescription: 'a: b'\n",
        "# a comment\nname: pdf-tools # another\ndescription: d\n",
        "name: pdf-tools\ndescription: one --- two\n",
        "name: pdf-tools\ndescription: |\n  ---\n  text\n",
        "name: pdf-tools\ndescription: >-\n  a: b\n  c\n",
        "name: pdf-tools\ndescription: " + "x" * 1024 + "\n",
        "name: pdf-tools\ndescription: |\n  " + "写" * 1024 + "\n",
        VALID + "license: Apache-2.0\n",
        VALID + "license: Proprietary. LICENSE.txt has complete terms\n",
        VALID + "compatibility: " + "x" * 500 + "\n",
        VALID + "metadata: {author: org, version: 1.0}\n",
        VALID + "metadata:\n  author: org\n  version: '1.0'\n  nothing:\n",
        VALID + "metadata: {}\n",
        VALID + "allowed-tools: Bash(git:*) Bash(jq:*) Read\n",
        VALID + "allowed-tools: Bash(git add, git commit) Read\n",
        "name: &n pdf-tools\ndescription: d\nmetadata: {again: *n}\n",
    ],
)
def test_what_the_specification_allows_is_valid(front: str) -> None:
    assert findings(front) == ()


@pytest.mark.parametrize(
    ("front", "code"),
    [
        ("description: d\n", "name_missing"),
        ("name:\ndescription: d\n", "name_missing"),
        ("name: ''\ndescription: d\n", "name_missing"),
        ("name: [pdf-tools]\ndescription: d\n", "name_type"),
        ("name: other\ndescription: d\n", "name_directory_mismatch"),
        ("name: pdf-tools\n", "description_missing"),
        ("name: pdf-tools\ndescription:\n", "description_missing"),
        ("name: pdf-tools\ndescription: ' '\n", "description_missing"),
        ("name: pdf-tools\ndescription: {a: b}\n", "description_type"),
        ("name: pdf-tools\ndescription: " + "x" * 1025 + "\n", "description_too_long"),
        (VALID + "license: [MIT]\n", "license_type"),
        (VALID + "compatibility:\n", "compatibility_empty"),
        (VALID + "compatibility: [a]\n", "compatibility_type"),
        (VALID + "compatibility: " + "x" * 501 + "\n", "compatibility_too_long"),
        (VALID + "metadata: text\n", "metadata_type"),
        (VALID + "metadata: [a]\n", "metadata_type"),
        (VALID + "metadata:\n", "metadata_type"),
        (VALID + "metadata: {a: {b: c}}\n", "metadata_value_type"),
        (VALID + "metadata: {a: [b]}\n", "metadata_value_type"),
        (VALID + "allowed-tools: [Read, Write]\n", "allowed_tools_type"),
        (VALID + "allowed-tools:\n  - Read\n", "allowed_tools_type"),
        (VALID + "version: 1.0.0\n", "unexpected_fields"),
        (VALID + "Name: again\n", "unexpected_fields"),
        ("name: pdf-tools\ndescription: use when: asked\n", "yaml_invalid"),
        ("name: pdf-tools\n\tdescription: d\n", "yaml_invalid"),
        ("name: [pdf-tools\ndescription: d\n", "yaml_invalid"),
        ("name: pdf-tools\ndescription: d\x07\n", "yaml_invalid"),
        ("name: pdf-tools\ndescription: *d\n", "yaml_invalid"),
        ("- name\n- description\n", "not_a_mapping"),
        ("just text\n", "not_a_mapping"),
    ],
)
def test_what_the_specification_forbids_is_an_error(front: str, code: str) -> None:
    assert errors(front) == [code]
    assert parse_skill(f"---\n{front}---\n".encode(), mode="strict", directory_name="pdf-tools").skill is None


@pytest.mark.parametrize("name", ["a", "7", "a1", "a-b-c", "x" * 64, "技能", "мой-навык", "café", "straße"])
def test_a_name_of_small_letters_digits_and_single_hyphens_is_valid(name: str) -> None:
    assert named(name) == []


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("x" * 65, ["name_too_long"]),
        ("Pdf", ["name_not_lowercase"]),
        ("НАВЫК", ["name_not_lowercase"]),
        ("-pdf", ["name_hyphen_at_edge"]),
        ("pdf-", ["name_hyphen_at_edge"]),
        ("a--b", ["name_consecutive_hyphens"]),
        ("a_b", ["name_invalid_characters"]),
        ("a b", ["name_invalid_characters"]),
        ("a.b", ["name_invalid_characters"]),
        ("../a", ["name_invalid_characters"]),
        ("-a--b_", ["name_hyphen_at_edge", "name_consecutive_hyphens", "name_invalid_characters"]),
    ],
)
def test_every_fault_of_a_name_is_reported(name: str, codes: list[str]) -> None:
    assert named(name) == codes


def test_names_are_compared_in_their_composed_form() -> None:
    assert errors("name: cafe\u0301\ndescription: d\n", name="caf\u00e9") == []


def test_without_a_directory_its_name_is_not_compared() -> None:
    assert errors(VALID, name=None) == []


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "frontmatter_missing"),
        (b"# Title\n", "frontmatter_missing"),
        (b"\n---\nname: a\n---\n", "frontmatter_missing"),
        (b" ---\nname: a\n---\n", "frontmatter_missing"),
        (b"---\nname: a\ndescription: d\n", "frontmatter_unclosed"),
        (b"---\nname: a\ndescription: d\n ---\n", "frontmatter_unclosed"),
        (b"---\nname: a\ndescription: d\n----\n", "frontmatter_unclosed"),
        (b"---\nname: a\ndescription: " + b"x" * 70_000 + b"\n---\n", "frontmatter_too_long"),
        (b"---\nname: a\ndescription: \xff\n---\n", "not_utf8"),
        (b"\xff\xfe-\x00-\x00-\x00", "frontmatter_missing"),
    ],
)
def test_a_file_without_a_whole_front_matter_is_an_error(data: bytes, code: str) -> None:
    assert [one.code for one in parse_skill(data, mode="strict").diagnostics] == [code]


def test_a_byte_order_mark_and_repeated_keys_do_no_harm_and_are_reported() -> None:
    parsed = parse_skill(b"\xef\xbb\xbf---\nname: a\ndescription: c\ndescription: d\n---\n", mode="strict")
    assert [(one.code, one.severity, one.line) for one in parsed.diagnostics] == [
        ("byte_order_mark", "info", 1),
        ("duplicate_key", "warning", 4),
    ]
    assert parsed.skill is not None
    assert parsed.skill.description == "d"


def test_commas_between_tools_are_a_warning() -> None:
    (found,) = findings(VALID + "allowed-tools: Read, Write\n")
    assert (found.code, found.severity) == ("allowed_tools_commas", "warning")


def test_a_finding_names_its_line_and_column_and_says_what_helps() -> None:
    (found,) = findings("name: pdf-tools\ndescription: use when: asked\n")
    assert (found.line, found.column) == (3, 22)
    (found,) = findings("name: pdf-tools\ndescription: d\nmetadata:\n  a: [b]\n")
    assert (found.line, found.hint) == (4, RULES[found.code].hint)


def test_every_field_of_a_valid_skill_is_read() -> None:
    front = VALID + "license: MIT\ncompatibility: uv\nmetadata: {version: 1.0}\nallowed-tools: Read Bash(git add:*)\n"
    data = f"---\n{front}---\nbody".encode()
    parsed = parse_skill(data, mode="strict")
    skill = parsed.skill
    assert skill is not None
    assert (skill.name, skill.description) == ("pdf-tools", "Reads PDF files. Use it for forms.")
    assert (skill.license, skill.compatibility, skill.metadata) == ("MIT", "uv", {"version": "1.0"})
    assert skill.allowed_tools == ("Read", "Bash(git add:*)")
    assert data[parsed.body_start :] == b"body"


def test_every_code_that_is_reported_is_listed_on_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "skills.md").read_text()
    assert [code for code in RULES if f"`{code}`" not in page] == []
