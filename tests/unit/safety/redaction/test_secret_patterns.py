"""What is taken for a secret by its shape or its place, and what never is."""

import json

import pytest

from skills_runtime.config.secrets import is_key_shaped
from skills_runtime.safety.redaction import MARK, Redactor

BLOCK = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n"
    "MIIEpAIBAAKCAQEA7bqk0000\nabcd+/==\n-----END RSA PRIVATE KEY-----"
)
KEYS = [
    "sk-abcdefghijklmnopqrst",
    "sk-proj-A1b2C3d4E5f6G7h8",
    "sk-ant-api03-Ab1Cd2Ef3Gh4-Ij5Kl6Mn7Op8_Qr9",
    "sk-12345678",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "glpat-abcdefghij0123456789",
    "hf_abcdefghijklmnopqrstuvwxyz012345",
    "sk_live_abcdefghijklmnop1234",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghijkl",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    BLOCK,
]
PLACES = [
    ("postgres://app:{}@db.example.com:5432/app", "hunter2"),
    ("see redis://:{}@localhost:6379/0 and go on", "p@ssw0rd"),
    ("git clone https://x-access-token:{}@example.com/a.git", "abc"),
    ("Authorization: Bearer {}", "abcdefgh.ijkl"),
    ("curl -H 'authorization: Basic {}' https://example.com", "dXNlcjpwYXNz"),
    ('{{"Authorization": "Bearer {}"}}', "abcdefghijkl"),
    ("got Bearer {} back", "0123456789abcdefXYZ"),
    ("PASSWORD={}", "hunter22"),
    ("export OPENAI_API_KEY={}", "abc123def456"),
    ("x-api-key: {}", "abc123def456"),
    ('"client_secret": "{}",', "abc123def456"),
    ("https://example.com/cb?access_token={}&state=1", "abc123def456"),
    ("db:\n  password: {}\n", "s3cr3t-Value"),
]
ORDINARY = [
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore.",
    "这是一段普通的中文文字，里面没有任何密码或者令牌；密码：无。",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  file.tar.gz",
    "commit 8acbc6a0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6",
    "run_01ARZ3NDEKTSV4RRFFQ69G5FAV turn_3 step_7 call_01HZY8",
    "550e8400-e29b-41d4-a716-446655440000",
    "src/skills_runtime/safety/redaction/secrets.py:120: in is_secret_name",
    "/usr/lib/python3.11/site-packages/token/secret/password.py",
    "diff --git a/token.py b/token.py\n--- a/token.py\n+++ b/token.py\n@@ -1,3 +1,4 @@\n-token = 1\n+token = a()\n",
    "task-force-on-the-roof-terrace, risk-assessment-of-things, sk-learn-extra-models",
    '<div class="sk-toggleable__content sk-container-id-1 sk-estimator-doc-link">',
    "http://localhost:8080/a@b and http://example.com:80?mail=a@b.c and git@example.com:a/b.git",
    "ssh://git@example.com:22/a/b.git",
    "max_tokens: 4096, input_tokens=12345678, token_budget=20000000, next token: 12345678",
    "def login(password: str, token: str | None = None) -> bool:",
    "password=getpass(prompt1) token=self.config.token2 secret=os.environ['SECRET1'] api_key=${API_KEY1}",
    "token=/run/secrets/token1 password: https://example.com/reset/12345 secret=./secret1.txt",
    "The password: everything else, and the secret: nothing.",
    "Authorization: Bearer <token>, Authorization: Bearer $TOKEN1234",
    "the bearer of this letter, the bearer understands everything",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEbGPd\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOC\n-----END PUBLIC KEY-----",
    "-------------------------------------------------------------------------------",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "\x1b[1;32mok\x1b[0m 12 passed, 100% of 3 files; 5 > 3 && a < b",
    '{"seq":12,"type":"tool_call_finished","payload":{"ok":true,"bytes":1048576,"text":"a\\nb\\u0001"},"mac":"0a1b2c3d"}',
    "eyJ is how a token begins, and AKIA a key",
    "sk-", "ghp_", "xoxb-", "", " ", "\\", "%", "&#", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("place", ["{}", "use {} please", 'key="{}"', "a\n{}\n", "x={}&y=1", "%3D{}", "中{}文"])
def test_what_is_shaped_like_a_key_is_taken_out(key: str, place: str) -> None:
    redactor = Redactor()
    assert redactor.text(place.format(key)) == place.format(MARK)
    quoted, hidden = json.dumps(place.format(key)), json.dumps(place.format(MARK))
    assert redactor.text(quoted) == hidden
    assert json.loads(redactor.line(quoted.encode())) == json.loads(hidden)


@pytest.mark.parametrize(("place", "secret"), PLACES)
def test_a_secret_is_known_by_its_place(place: str, secret: str) -> None:
    redactor = Redactor()
    text, hidden = place.format(secret), place.format(MARK)
    assert redactor.text(text) == hidden
    assert redactor.text(json.dumps({"a": text})) == json.dumps({"a": hidden})
    assert json.loads(redactor.line(json.dumps([{"a": json.dumps([text])}]).encode())) == [{"a": json.dumps([hidden])}]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    redactor = Redactor(["correct-horse-battery-staple", "x9K$2"])
    line = json.dumps([text, {"k": text}]).encode()
    assert redactor.text(text) is text
    assert redactor.line(line) is line
    stream = redactor.stream()
    assert "".join(map(stream.feed, text)) + stream.finish() == text


@pytest.mark.parametrize("key", KEYS)
def test_what_a_configuration_refuses_no_log_shows(key: str) -> None:
    assert is_key_shaped(key) <= (Redactor().text(key) == MARK)


def test_a_private_key_is_taken_out_as_a_whole_however_it_is_shown() -> None:
    redactor = Redactor()
    lines = BLOCK.split("\n")
    shown = [
        "\n".join(f"L{number}: {line}" for number, line in enumerate(lines, start=1)).removeprefix("L1: "),
        "\r\n".join(lines),
        "\n".join(f"    {line}" for line in lines).lstrip(),
        "\n> ".join(lines),
    ]
    for text in shown:
        assert redactor.text(f"<{text}> rest") == f"<{MARK}> rest"


def test_a_private_key_without_its_end_is_taken_out_as_far_as_it_goes() -> None:
    assert Redactor().text("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\nabcd") == MARK


def test_a_member_with_a_secret_s_name_is_hidden_if_it_holds_a_value() -> None:
    redactor = Redactor()
    members = {
        "api_key": "abc123def456",
        "token": "none",
        "password": {"type": "string"},
        "secret": "see page 12345678",
    }
    hidden = {**members, "api_key": MARK}
    assert redactor.value(members) == hidden
    assert json.loads(redactor.line(json.dumps(members).encode())) == hidden
