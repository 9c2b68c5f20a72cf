"""What a redactor does with text, plain data and log lines."""

import base64
import json
import subprocess
import sys

import pytest

from skills_runtime.safety.redaction import MARK, Redactor

SECRET = 'tr0ub4dor & "three" \\ ünï'


def test_every_place_of_a_secret_is_marked() -> None:
    assert Redactor([SECRET]).text(f"a {SECRET} b {SECRET}{SECRET}") == f"a {MARK} b {MARK}{MARK}"


def test_the_longer_of_two_secrets_is_taken_out_whole() -> None:
    assert Redactor(["abc123", "abc123def456"]).text("abc123def456 abc123") == f"{MARK} {MARK}"


def test_a_secret_within_a_key_takes_the_whole_key_with_it() -> None:
    assert Redactor(["def456"]).text("sk-abc123def456ghi789jkl") == MARK


def test_a_key_within_a_secret_leaves_nothing_of_the_secret() -> None:
    assert (
        Redactor(["sk-abc123def456ghi789!/rest of it"]).text("x sk-abc123def456ghi789!/rest of it y") == f"x {MARK} y"
    )


def test_space_around_a_secret_is_not_part_of_it() -> None:
    assert Redactor([" s3cr3t-value\n"]).text("s3cr3t-value") == MARK


def test_a_line_without_secrets_is_the_same_object() -> None:
    line = b'{"a":"b","n":1.0,"deep":[{"c":null}]}'
    assert Redactor([SECRET]).line(line) is line


def test_a_line_keeps_every_byte_that_is_no_secret() -> None:
    line = b'{ "n": 1.50e3, "big":123456789012345678901234567890,"a":"\\u00e4", "s":"x s3cr3t-value y"}'
    assert Redactor(["s3cr3t-value"]).line(line) == line.replace(b"s3cr3t-value", MARK.encode())


def test_keys_are_cleaned_and_stay_apart() -> None:
    document = {"s3cr3t-value": 1, "other-s3cr3t": 2, "plain": [{"s3cr3t-value": 3}]}
    redactor = Redactor(["s3cr3t-value", "other-s3cr3t"])
    hidden = {MARK: 1, f"{MARK}2": 2, "plain": [{MARK: 3}]}
    assert json.loads(redactor.line(json.dumps(document).encode())) == hidden
    assert redactor.value(document) == hidden


def test_a_number_that_is_a_secret_becomes_the_mark() -> None:
    redactor = Redactor(["8462917301"])
    assert redactor.line(b'{"pin":8462917301,"bytes":84629173011}') == b'{"pin":"<redacted>","bytes":84629173011}'
    assert redactor.value({"pin": 8462917301, "ok": True}) == {"pin": MARK, "ok": True}


def test_a_string_that_cannot_be_read_is_not_believed() -> None:
    assert Redactor(["s3cr3t-value"]).line(b'["s3cr3t-value \\q", "fine"]') == b'["<redacted>", "fine"]'


def test_halves_of_characters_survive() -> None:
    redactor = Redactor(["s3cr3t-value"])
    assert redactor.text("\ud800 s3cr3t-value") == f"\ud800 {MARK}"
    assert redactor.line(b'["\\ud800 s3cr3t-value"]') == b'["\\ud800 <redacted>"]'


def test_data_without_secrets_is_the_same_object() -> None:
    value = {"a": [1, 2.5, None, True, ("x", "y")], "b": {"c": "d"}}
    assert Redactor([SECRET]).value(value) is value


def test_data_with_a_secret_is_changed_only_where_it_is() -> None:
    kept = {"c": "d"}
    value = {"a": [kept, ("x", SECRET)], "b": kept}
    changed = Redactor([SECRET]).value(value)
    assert changed == {"a": [{"c": "d"}, ("x", MARK)], "b": {"c": "d"}}
    assert changed["b"] is kept
    assert changed["a"][0] is kept


@pytest.mark.parametrize(
    "short", ["abc", "true", "8080", "admin", "1234567", "secrets", "password", "redacted", "0000", ""]
)
def test_what_ordinary_text_is_full_of_is_no_secret(short: str) -> None:
    text = f"it is {short} here"
    assert Redactor([short]).text(text) is text


@pytest.mark.parametrize("value", ["a1b2", "pa$s", "12345678", "swordfish", "Pa55word", "密码密码"])
def test_a_short_value_that_stands_out_is_one(value: str) -> None:
    assert Redactor([value]).text(f"x{value}y") == f"x{MARK}y"


def test_a_secret_of_any_length_is_found_in_every_encoding() -> None:
    secret = "".join(f"{number}:x/y\n" for number in range(2000))
    redactor = Redactor([secret])
    for text in (
        secret,
        json.dumps(json.dumps(secret)),
        base64.encodebytes(secret.encode()).decode(),
        secret.encode().hex(),
    ):
        assert len(redactor.text(f"[{text}]")) < 40


def test_a_secret_that_was_given_up_in_its_middle_stays_in_place() -> None:
    redactor = Redactor(["s3cr3t-value"])
    text = "s3cr3t-valu and s3cr3t_value"
    assert redactor.text(text) is text


def test_large_text_is_looked_through_once() -> None:
    redactor = Redactor(["s3cr3t-value"])
    text = "\\" * 1_000_000 + "token=" * 200_000 + " sk-" * 200_000 + "s3cr3t-" * 100_000
    assert redactor.text(text) is text


def test_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, skills_runtime.safety.redaction; print(sorted({'pydantic', 're2', 'openai'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
