"""The samples of the security scan: small skills that we wrote, all of them inert, and how they are laid out on disk.

An address in them leads nowhere (`.zz` is no domain, 240.0.0.0/4 is routed nowhere), and what has to be encoded is
written in clear as `{{b64:…}}` and encoded only on disk.
"""

import base64
import re
import zlib
from pathlib import Path
from typing import Literal

import msgspec

SAMPLES = Path(__file__).parent / "samples"
Half = Literal["tuned", "held_out"]

_DIRECTIVE = re.compile(r"\{\{(b64|hex|tags|zero):(.*?)\}\}(?!\})|\{\{(zwsp)\}\}")


class Sample(msgspec.Struct, frozen=True):
    """A small skill: its name, what it says it does, and its files."""

    name: str
    files: dict[str, str]

    @property
    def half(self) -> Half:
        """Which half it belongs to; rules were made with the first in view, the second only measures them."""
        return "tuned" if zlib.crc32(self.name.encode()) % 2 else "held_out"

    def write(self, directory: Path) -> Path:
        """Lay the skill out below a directory."""
        root = directory / self.name
        for name, body in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_DIRECTIVE.sub(_encoded, body), encoding="utf-8")
        return root


def samples(prefix: str) -> list[Sample]:
    """All samples of the files whose names begin like this."""
    found: list[Sample] = []
    for file in sorted(SAMPLES.glob(f"{prefix}-*.txt")):
        for block in file.read_text(encoding="utf-8").split("@@ ")[1:]:
            found.append(_sample(block))
    return found


def _sample(block: str) -> Sample:
    head, _, rest = block.partition("\n")
    name, _, description = head.partition(" :: ")
    body, *others = re.split(r"^%% ", rest, flags=re.M)
    files = {"SKILL.md": f"---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\n{body}"}
    for other in others:
        path, _, text = other.partition("\n")
        files[path.strip()] = text
    return Sample(name, files)


def _encoded(match: re.Match[str]) -> str:
    kind, said = match[1] or match[3], match[2] or ""
    if kind == "b64":
        return base64.b64encode(said.encode()).decode()
    if kind == "hex":
        return said.encode().hex()
    if kind == "tags":
        return "".join(chr(0xE0000 + ord(each)) for each in said)
    if kind == "zwsp":
        return "\u200b"
    bits = "".join(f"{ord(each):08b}" for each in said)
    return "".join("\u200b" if bit == "0" else "\u200c" for bit in bits)
