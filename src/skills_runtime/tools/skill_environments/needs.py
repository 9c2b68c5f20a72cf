"""What environment a script needs, and the name under which it is kept.

Pure but for looking at the interpreter.
"""

import hashlib
import platform
import sys
from functools import cache
from pathlib import Path

import msgspec

from skills_runtime.skills.problems import failure
from skills_runtime.skills.scripts import InlineMetadata, NotUsable, allows, inline_metadata


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """An environment by what makes it."""

    metadata: InlineMetadata
    script: bytes
    lock: bytes = b""
    """The lock file that the skill brings along, as `uv lock --script` writes it; else it is resolved once."""
    key: str


def need_of(script: bytes, lock: bytes = b"", *, name: str = "the script") -> Need | None:
    """What a script needs besides an interpreter, or nothing."""
    try:
        metadata = inline_metadata(script)
    except NotUsable as error:
        raise failure(
            "SKILL_ACTION_DEFINITION_INVALID",
            f"what `{name}` needs cannot be provided: {error}",
            hint="write `dependencies` as a list of package names with versions",
        ) from error
    if metadata is None:
        return None
    _check_python(metadata, name)
    if not metadata.dependencies:
        return None
    return Need(metadata=metadata, script=script, lock=lock, key=_key(metadata, lock))


@cache
def interpreter() -> Path:
    """The Python that environments are made from: the runtime's own, which is there behind the fence as well."""
    major, minor = sys.version_info[:2]
    return Path(sys.base_prefix) / "bin" / f"python{major}.{minor}"


def _check_python(metadata: InlineMetadata, name: str) -> None:
    wanted, here = metadata.requires_python, sys.version_info[:3]
    fits = allows(wanted, here)
    if fits is None:
        raise failure(
            "SKILL_ACTION_DEFINITION_INVALID",
            f"the `requires-python` of `{name}` is not understood: {wanted[:80]!a}",
            hint="write it as `>=3.11`",
        )
    if not fits:
        raise failure(
            "SKILL_ACTION_DEFINITION_INVALID",
            f"`{name}` needs Python {wanted[:80]}, and this is {platform.python_version()}",
            hint="run skills-runtime with such a Python",
        )


def _key(metadata: InlineMetadata, lock: bytes) -> str:
    parts = (
        metadata.requires_python,
        metadata.exclude_newer,
        *sorted(metadata.dependencies),
        hashlib.sha256(lock).hexdigest() if lock else "",
        str(interpreter()),
        platform.python_version(),
        platform.machine(),
        sys.platform,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
