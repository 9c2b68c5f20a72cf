"""Signatures of skills: OpenSSF Model Signing, a `skill.oms.sig` beside the `SKILL.md`.

A signature tells who made a skill; the user decides which signer to trust. The verification library is large and
rarely needed, so it is an optional extra that is imported only to verify a signature.
"""

from pathlib import Path
from typing import Literal

import msgspec

from skills_runtime.errors import ConfigError, PolicyDenied, ValidationFailed
from skills_runtime.installation import find_installation

SIGNATURE_FILE = "skill.oms.sig"

SignatureStatus = Literal["verified", "unsigned", "unchecked"]
"""Verified; no signature; signed, but the user named no trusted signer."""


class Signer(msgspec.Struct, frozen=True, kw_only=True):
    """The trusted signer: exactly one of a key, certificates, or an identity with its issuer."""

    public_key: Path | None = None
    certificates: tuple[Path, ...] = ()
    identity: str | None = None
    issuer: str | None = None

    def check(self) -> None:
        """Raise `ValidationFailed` unless exactly one signer is described."""
        if (self.identity is None) != (self.issuer is None):
            raise ValidationFailed(
                "a signer identity needs its issuer",
                hint="give both `--signer-identity` and `--signer-issuer`",
            )
        if sum(map(bool, (self.public_key, self.certificates, self.identity))) != 1:
            raise ValidationFailed("a signer needs exactly one of: a key, certificates, or an identity")
        for path in (*([self.public_key] if self.public_key else []), *self.certificates):
            if not path.is_file():
                raise ValidationFailed(f"there is no file `{path}` to check signatures with", hint="check the path")


def check_signature(skill: Path, signer: Signer | None, *, required: bool) -> SignatureStatus:
    """Verify the signature of a skill; raise if it is invalid, or missing although required."""
    signature = skill / SIGNATURE_FILE
    if signer is not None:
        signer.check()
    if not signature.is_file():
        if required:
            raise PolicyDenied(
                f"the skill `{skill.name}` is not signed: it has no `{SIGNATURE_FILE}`",
                hint="leave out `--require-signature` only if you trust where it comes from",
            )
        return "unsigned"
    if signer is None:
        if required:
            raise ValidationFailed(
                "a signature is required, but no trusted signer is given",
                hint="give `--signer-key`, `--signer-certificate`, or `--signer-identity` with `--signer-issuer`",
            )
        return "unchecked"
    _verify(skill, signature, signer)
    return "verified"


def _verify(skill: Path, signature: Path, signer: Signer) -> None:
    try:
        from cryptography.exceptions import InvalidSignature
        from model_signing import hashing, verifying
    except ImportError as error:
        raise ConfigError(
            "checking a signature needs the package `model-signing`, which is not installed",
            hint=f"`{find_installation().extra_command('signing')}` installs it",
        ) from error
    # The signature file cannot cover itself; every other file, including those of git, must be signed.
    counted = hashing.Config().set_ignored_paths(paths=[signature], ignore_git_paths=False)  # pyright: ignore[reportUnknownMemberType]
    try:
        config = verifying.Config().set_hashing_config(counted)
        if signer.public_key is not None:
            config = config.use_elliptic_key_verifier(public_key=signer.public_key)  # pyright: ignore[reportUnknownMemberType]
        elif signer.certificates:
            config = config.use_certificate_verifier(certificate_chain=signer.certificates)  # pyright: ignore[reportUnknownMemberType]
        else:
            config = config.use_sigstore_verifier(identity=signer.identity or "", oidc_issuer=signer.issuer or "")
        config.verify(skill, signature)  # pyright: ignore[reportUnknownMemberType]
    except (ValueError, TypeError, KeyError, AttributeError, InvalidSignature, OSError) as error:
        raise PolicyDenied(
            f"the signature of the skill `{skill.name}` does not hold: {error or type(error).__name__}",
            hint="the skill was changed after signing, or signed by another signer; nothing was installed",
            details={"code": "SKILL_SIGNATURE_INVALID"},
        ) from error
