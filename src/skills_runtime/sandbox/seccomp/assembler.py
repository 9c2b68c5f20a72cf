"""Turns instructions with named jump targets into the bytes the kernel's classic packet filter takes."""

import struct

LOAD_WORD = 0x20
JUMP_EQUAL = 0x15
JUMP_AT_LEAST = 0x35
JUMP_ANY_BIT = 0x45
RETURN = 0x06
AND = 0x54

NUMBER_OFFSET = 0
ARCHITECTURE_OFFSET = 4
ARGUMENTS_OFFSET = 16
ARGUMENT_SIZE = 8
MAX_JUMP = 255
MAX_INSTRUCTIONS = 4096

NEXT = ""
"""The target of a jump that does not jump."""


class Assembler:
    """A program being written; targets may be named before they are placed, but only forwards."""

    def __init__(self) -> None:
        self._instructions: list[tuple[int, int, str, str]] = []
        self._places: dict[str, int] = {}

    def load(self, offset: int) -> None:
        """Take a word of what is known of the call."""
        self._instructions.append((LOAD_WORD, offset, NEXT, NEXT))

    def load_argument(self, position: int, *, upper: bool = False) -> None:
        """Take one half of an argument, the lower: the kernel looks at no more where the type has 32 bits."""
        self.load(ARGUMENTS_OFFSET + ARGUMENT_SIZE * position + (ARGUMENT_SIZE // 2 if upper else 0))

    def keep_bits(self, mask: int) -> None:
        """Forget the other bits of the word."""
        self._instructions.append((AND, mask, NEXT, NEXT))

    def jump(self, code: int, value: int, *, then: str = NEXT, otherwise: str = NEXT) -> None:
        """Go on at one of two places, after comparing the word."""
        self._instructions.append((code, value, then, otherwise))

    def answer(self, action: int) -> None:
        """End with a verdict."""
        self._instructions.append((RETURN, action, NEXT, NEXT))

    def place(self, name: str) -> None:
        """Name what comes next."""
        self._places[name] = len(self._instructions)

    def assemble(self) -> bytes:
        """The whole program."""
        if len(self._instructions) > MAX_INSTRUCTIONS:
            raise ValueError(f"{len(self._instructions)} instructions are more than the kernel takes")
        return b"".join(self._encoded(number) for number in range(len(self._instructions)))

    def _encoded(self, number: int) -> bytes:
        code, value, then, otherwise = self._instructions[number]
        distances = [self._distance(number, name) for name in (then, otherwise)]
        return struct.pack("<HBBI", code, *distances, value & 0xFFFF_FFFF)

    def _distance(self, number: int, name: str) -> int:
        if name == NEXT:
            return 0
        distance = self._places[name] - number - 1
        if not 0 <= distance <= MAX_JUMP:
            raise ValueError(f"`{name}` is {distance} instructions away, which a jump cannot reach")
        return distance
