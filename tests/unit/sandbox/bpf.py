"""A reader of the kernel's packet filter for tests: runs a program on a made-up call, and lists it for people."""

import struct
from collections.abc import Iterator

ACTIONS = {0x7FFF0000: "allow", 0x80000000: "kill"}


def instructions(program: bytes) -> Iterator[tuple[int, int, int, int]]:
    return struct.iter_unpack("<HBBI", program)


def verdict(program: bytes, *, audit: int, number: int, arguments: tuple[int, ...] = ()) -> str:
    """What the filter says to a call: `allow`, `kill`, or the number of the error."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *(*arguments, *[0] * (6 - len(arguments))))
    code, place, word = list(instructions(program)), 0, 0
    while True:
        operation, then, otherwise, value = code[place]
        place += 1
        match operation:
            case 0x20:
                (word,) = struct.unpack_from("<I", data, value)
            case 0x54:
                word &= value
            case 0x15:
                place += then if word == value else otherwise
            case 0x35:
                place += then if word >= value else otherwise
            case 0x45:
                place += then if word & value else otherwise
            case 0x06:
                return _action(value)
            case _:
                raise AssertionError(operation)


def listing(program: bytes) -> str:
    """The program as text, one instruction a line."""
    names = {0x20: "load", 0x54: "and", 0x15: "if =", 0x35: "if >=", 0x45: "if &", 0x06: "return"}
    lines: list[str] = []
    for number, (operation, then, otherwise, value) in enumerate(instructions(program)):
        if operation == 0x06:
            lines.append(f"{number:3} return {_action(value)}")
        elif operation in (0x20, 0x54):
            lines.append(f"{number:3} {names[operation]} {value:#x}")
        else:
            lines.append(
                f"{number:3} {names[operation]} {value:#x} then {number + 1 + then} else {number + 1 + otherwise}"
            )
    return "\n".join(lines) + "\n"


def _action(value: int) -> str:
    return ACTIONS.get(value) or f"error {value & 0xFFFF}"
