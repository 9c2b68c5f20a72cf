"""How mentions are written: what counts, and what is ordinary text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_runtime.skills.mentions import WrittenMention, mask_code, scan_mentions
from skills_runtime.skills.skill import is_name, mentions_in

names = st.from_regex(r"[a-z][a-z0-9_-]{0,20}[a-z0-9]", fullmatch=True)


def forms(text: str) -> list[tuple[str, str]]:
    return [(mention.form, mention.name) for mention in scan_mentions(text)]


@pytest.mark.parametrize(
    "text",
    [
        "$release-notes",
        "use $release-notes",
        "Use $release-notes.",
        "($release-notes)",
        '"$release-notes"',
        "*$release-notes*",
        "请用$release-notes写一篇",
        "$release-notes, then go on",
        "$release-notes: the usual",
        "$release-notes's way",
        "$release-notes?\nYes.",
        "`code` then $release-notes",
    ],
)
def test_a_dollar_and_a_name_is_a_mention(text: str) -> None:
    assert forms(text) == [("dollar", "release-notes")]


@pytest.mark.parametrize(
    "text",
    [
        "$HOME", "$PATH/bin", "$Home", "${x}", "${name-x}", "$1", "$20", "$1,000.50", "US$30", "a$name", "$$name",
        r"\$name", "$name=1", "x=$name", "$name/bin", "bin/$name", "$name.field", "$obj->call", "$list[0]", "$call(1)",
        "$name++", "$name--", "{$name}", "$(name)", "$nameX", "$name_", "$-name", "$ name", "$x", "@$name", "#$name",
        f"${'a' * 65}", "`$name`", "``a ` $name``", "```\n$name\n```", "~~~sh\necho $name\n~~~", "```\n$name",
        "    ```\n$HOME\n", "s/$name/x/", "$name\\more", "-$name", "[$name]", "[$name]()", "[$name](a b)", "",
    ],
)  # fmt: skip
def test_what_is_a_variable_a_price_a_path_or_code_is_text(text: str) -> None:
    assert forms(text) == []


def test_a_qualified_name_is_one_name() -> None:
    assert forms("$my-plugin:review and $web:mvp:writer.") == [
        ("dollar", "my-plugin:review"),
        ("dollar", "web:mvp:writer"),
    ]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("/deploy", ""),
        ("/deploy staging now", "staging now"),
        ("  \n/deploy\tstaging\n\nand tell me\n", "staging\n\nand tell me"),
    ],
)
def test_a_slash_and_a_name_at_the_beginning_takes_the_rest_as_its_words(text: str, arguments: str) -> None:
    (mention,) = scan_mentions(text)
    assert (mention.form, mention.name, mention.arguments) == ("slash", "deploy", arguments)


@pytest.mark.parametrize(
    "text", ["/usr/bin", "/deploy/", "/Deploy", "/deploy.sh x", "now /deploy", "//deploy", "/ deploy", "/x", "/"]
)
def test_a_path_or_a_slash_elsewhere_is_text(text: str) -> None:
    assert forms(text) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[$writer](skills/writer/SKILL.md)", "skills/writer/SKILL.md"),
        ("see [$writer](</a b/SKILL.md>)!", "/a b/SKILL.md"),
        ("[$writer](skill://writer)", "skill://writer"),
    ],
)
def test_a_link_names_a_skill_and_where_it_is(text: str, path: str) -> None:
    (mention,) = scan_mentions(text)
    assert (mention.form, mention.name, mention.path) == ("link", "writer", path)


@pytest.mark.parametrize(
    "text", ["![$writer](x)", r"\[$writer](x)", "`[$writer](x)`", "[writer](x)", "[$Writer](x)", "[$writer] (x)"]
)
def test_an_image_a_link_in_code_and_a_link_without_a_dollar_are_text(text: str) -> None:
    assert forms(text) == []


def test_all_forms_come_in_the_order_they_stand_in() -> None:
    text = "/first do $[web].second and $third, [$fourth](x), then $[web:mvp].fifth"
    assert forms(text) == [
        ("slash", "first"), ("exact", "second"), ("dollar", "third"), ("link", "fourth"), ("exact", "fifth")
    ]  # fmt: skip


def test_an_exact_mention_counts_in_code_too_as_it_always_did() -> None:
    assert forms("`$[web].writer`") == [("exact", "writer")]


@given(st.text(alphabet="$[]():/`~\\ab-_.Z09 \n写", max_size=80))
def test_whatever_is_found_is_a_legal_name_that_stands_in_the_text(text: str) -> None:
    mentions = scan_mentions(text)
    assert [(mention.namespace, mention.name) for mention in mentions if mention.form == "exact"][:1] == [
        (mention.namespace, mention.name) for mention in mentions_in(text)
    ][:1]
    for mention in mentions:
        assert all(map(is_name, mention.name.split(":")))
        assert mention.text in text
    assert [mention.start for mention in mentions] == sorted(mention.start for mention in mentions)


@given(st.text(alphabet="`~\n ab$", max_size=60))
def test_making_code_blank_moves_nothing(text: str) -> None:
    blanked = mask_code(text)
    assert len(blanked) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, blanked, strict=True))
    assert mask_code(blanked.replace("`", " ").replace("~", " ")).count("$") == blanked.count("$")


@given(names, names)
def test_two_names_are_two_mentions(first: str, second: str) -> None:
    assert forms(f"${first} then ${second}.") == [("dollar", first), ("dollar", second)]


@pytest.mark.parametrize("piece", ["$a", "$ab-", "`", "``a`", "[$ab](", "$ab:", "/ab ", "~~~\n", "$[", "\n\n`"])
def test_a_megabyte_of_beginnings_is_read_at_once(piece: str) -> None:
    assert isinstance(scan_mentions("x $" + piece * (1_000_000 // len(piece))), list)


def test_a_mention_is_a_value() -> None:
    assert scan_mentions("$writer") == [WrittenMention(form="dollar", name="writer", text="$writer", start=0)]
