"""Signatures: checked with the real package, and a clear answer where it is missing."""

import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from model_signing import signing

from skills_runtime.errors import ConfigError, PolicyDenied, ValidationFailed
from skills_runtime.skills.install.signatures import SIGNATURE_FILE, Signer, check_signature
from tests.unit.skills.samples import make_skill


def make_key(place: Path, name: str) -> tuple[Path, Path]:
    """A new pair of keys in files: the private and the public one."""
    key = ec.generate_private_key(ec.SECP256R1())
    private, public = place / f"{name}.pem", place / f"{name}.pub"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    public.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Path, Signer]:
    """A signed skill and who signed it."""
    private, public = make_key(tmp_path, "key")
    skill = make_skill(tmp_path, "writer", files={"scripts/run.sh": "echo"})
    config = signing.Config().use_elliptic_key_signer(private_key=private)  # pyright: ignore[reportUnknownMemberType]
    config.sign(skill, skill / SIGNATURE_FILE)  # pyright: ignore[reportUnknownMemberType]
    return skill, Signer(public_key=public)


def test_a_signature_that_holds_is_verified(signed: tuple[Path, Signer]) -> None:
    assert check_signature(*signed, required=True) == "verified"


@pytest.mark.parametrize("change", ["changed", "added", "removed"])
def test_a_skill_that_is_not_what_was_signed_is_refused(change: str, signed: tuple[Path, Signer]) -> None:
    skill, signer = signed
    if change == "removed":
        (skill / "scripts/run.sh").unlink()
    else:
        (skill / ("scripts/run.sh" if change == "changed" else "scripts/new.sh")).write_text("evil")
    with pytest.raises(PolicyDenied, match="does not hold"):
        check_signature(skill, signer, required=False)


def test_the_signature_of_another_user_is_refused(signed: tuple[Path, Signer], tmp_path: Path) -> None:
    other = make_key(tmp_path, "other")[1]
    with pytest.raises(PolicyDenied, match="does not hold"):
        check_signature(signed[0], Signer(public_key=other), required=False)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"verificationMaterial": 1}'])
def test_a_signature_that_is_none_is_refused(data: bytes, signed: tuple[Path, Signer]) -> None:
    (signed[0] / SIGNATURE_FILE).write_bytes(data)
    with pytest.raises(PolicyDenied, match="does not hold"):
        check_signature(*signed, required=False)


def test_a_skill_without_a_signature_is_refused_only_where_one_is_required(tmp_path: Path) -> None:
    skill = make_skill(tmp_path, "writer")
    assert check_signature(skill, None, required=False) == "unsigned"
    with pytest.raises(PolicyDenied, match="not signed"):
        check_signature(skill, None, required=True)


def test_a_signature_of_an_unknown_signer_is_not_verified(signed: tuple[Path, Signer]) -> None:
    assert check_signature(signed[0], None, required=False) == "unchecked"
    with pytest.raises(ValidationFailed, match="no trusted signer is given"):
        check_signature(signed[0], None, required=True)


@pytest.mark.parametrize(
    "signer",
    [
        Signer(),
        Signer(identity="me"),
        Signer(issuer="https://issuer"),
        Signer(public_key=Path("no.pub")),
        Signer(public_key=Path(__file__), identity="me", issuer="https://issuer"),
    ],
)
def test_a_signer_that_is_not_clear_is_refused(signer: Signer, tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed):
        check_signature(make_skill(tmp_path, "writer"), signer, required=False)


def test_without_the_package_the_answer_says_what_to_install(
    signed: tuple[Path, Signer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "model_signing", None)
    with pytest.raises(ConfigError, match="model-signing") as error:
        check_signature(*signed, required=False)
    assert "pip install" in error.value.hint
