"""The filter of system calls, run on made-up calls for both kinds of processor."""

import errno
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.sandbox.seccomp import (
    ARCHITECTURES,
    DENIED,
    JUMP_EQUAL,
    MODE_ARGUMENTS,
    RESERVING_REQUESTS,
    SHARED_OBJECTS,
    AllowedCalls,
    Architecture,
    Assembler,
    seccomp_program,
)
from tests.unit.sandbox.bpf import listing, verdict

GOLDEN = Path(__file__).parent / "golden"
EPERM, ENOSYS, EAFNOSUPPORT, EOPNOTSUPP = (
    f"error {number}" for number in (errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT, errno.EOPNOTSUPP)
)

both = pytest.mark.parametrize("architecture", list(ARCHITECTURES))


def ask(architecture: Architecture, name: "str | int", *arguments: int, permitted: AllowedCalls | None = None) -> str:
    audit, numbers = ARCHITECTURES[architecture]
    number = numbers[name] if isinstance(name, str) else name
    return verdict(seccomp_program(architecture, permitted), audit=audit, number=number, arguments=arguments)


@both
def test_the_program_is_the_one_that_was_reviewed(architecture: Architecture) -> None:
    assert listing(seccomp_program(architecture)) == (GOLDEN / f"seccomp.{architecture}.txt").read_text()


@both
def test_unneeded_system_calls_are_refused(architecture: Architecture) -> None:
    _, numbers = ARCHITECTURES[architecture]
    assert {ask(architecture, name) for name in DENIED if name in numbers} == {EPERM}


@both
@pytest.mark.parametrize("name", ["clone3", "openat2"])
def test_calls_that_cannot_be_looked_into_are_unknown(architecture: Architecture, name: str) -> None:
    assert ask(architecture, name) == ENOSYS


@both
def test_room_on_a_disk_cannot_be_reserved(architecture: Architecture) -> None:
    assert ask(architecture, "fallocate", 3, 1, 0, 1 << 40) == EOPNOTSUPP
    assert {ask(architecture, "ioctl", 3, request) for request in RESERVING_REQUESTS} == {EOPNOTSUPP}


@both
@settings(max_examples=60, deadline=None)
@given(number=st.integers(0, 0x3FFFFFFF))
def test_other_calls_pass(architecture: Architecture, number: int) -> None:
    if number not in ARCHITECTURES[architecture][1].values():
        assert ask(architecture, number) == "allow"


@both
@settings(max_examples=60, deadline=None)
@given(audit=st.integers(0, 0xFFFFFFFF), number=st.integers(0, 0xFFFFFFFF))
def test_calls_of_another_processor_end_the_process(architecture: Architecture, audit: int, number: int) -> None:
    if audit != ARCHITECTURES[architecture][0]:
        assert verdict(seccomp_program(architecture), audit=audit, number=number) == "kill"


@pytest.mark.parametrize("number", [0x40000000, 0x40000000 | 41, 0xFFFFFFFF])
def test_the_x32_calls_are_unknown(number: int) -> None:
    assert ask("x86_64", number) == ENOSYS


@both
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ((2, 1, 0), "allow"),
        ((2, 2, 17), "allow"),
        ((10, 1 | 0o2000000 | 0o4000, 0), "allow"),
        ((2, 3, 1), EPERM),
        ((10, 3, 58), EPERM),
        ((2, 5, 132), EPERM),
        ((16, 3, 0), "allow"),
        ((16, 3, 9), EPERM),
        ((1, 1, 0), EAFNOSUPPORT),
        ((17, 3, 0), EAFNOSUPPORT),
        ((38, 5, 0), EAFNOSUPPORT),
        ((40, 1, 0), EAFNOSUPPORT),
        ((2 | 1 << 40, 3, 1), EPERM),
    ],
)
def test_only_harmless_sockets(architecture: Architecture, arguments: tuple[int, ...], answer: str) -> None:
    assert ask(architecture, "socket", *arguments) == answer


@both
def test_sockets_of_the_file_system_can_be_permitted(architecture: Architecture) -> None:
    permitted = AllowedCalls(unix_sockets=True)
    assert ask(architecture, "socket", 1, 1, permitted=permitted) == "allow"
    assert ask(architecture, "socketpair", 1, 2, permitted=permitted) == "allow"


@both
def test_without_a_network_of_its_own_a_process_gets_no_socket(architecture: Architecture) -> None:
    permitted = AllowedCalls(internet_sockets=False)
    assert {ask(architecture, "socket", family, 1, permitted=permitted) for family in range(50)} == {EAFNOSUPPORT}


@both
def test_pairs_know_only_each_other(architecture: Architecture) -> None:
    answers = [ask(architecture, "socketpair", *arguments) for arguments in ((1, 1), (1, 5), (1, 2), (2, 1))]
    assert answers == ["allow", "allow", EPERM, EAFNOSUPPORT]


@both
@pytest.mark.parametrize("flags", [0, 0o4000, 0o2000000, 0o2004000])
def test_only_connected_sockets_come_in_pairs(architecture: Architecture, flags: int) -> None:
    allowed = [kind for kind in range(16) if ask(architecture, "socketpair", 1, kind | flags) == "allow"]
    assert allowed == [1, 5]


@both
@pytest.mark.parametrize("bit", [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80])
def test_no_process_begins_in_a_new_namespace(architecture: Architecture, bit: int) -> None:
    assert ask(architecture, "clone", bit | 17) == EPERM
    assert ask(architecture, "clone", 0x3D0F00) == "allow"


@both
@pytest.mark.parametrize("request_number", [0x5412, 0x5412 | 1 << 32, 0x541C, 0x5423])
def test_terminals_are_not_typed_into(architecture: Architecture, request_number: int) -> None:
    assert ask(architecture, "ioctl", 0, request_number) == EPERM
    assert ask(architecture, "ioctl", 0, 0x5401) == "allow"


@both
def test_no_file_changes_the_user_of_a_program(architecture: Architecture) -> None:
    _, numbers = ARCHITECTURES[architecture]
    for name, place in MODE_ARGUMENTS.items():
        if name in numbers:
            for mode, answer in ((0o4755, EPERM), (0o2755, EPERM), (0o1777, "allow")):
                assert ask(architecture, name, *[0] * place, mode) == answer


@both
def test_the_mode_counts_only_where_a_file_is_made(architecture: Architecture) -> None:
    assert ask(architecture, "openat", 0, 0, 0o100 | 1, 0o4755) == EPERM
    assert ask(architecture, "openat", 0, 0, 0o20200000 | 2, 0o4755) == EPERM
    assert ask(architecture, "openat", 0, 0, 1, 0o4755) == "allow"
    assert ask(architecture, "openat", 0, 0, 0o100 | 1, 0o644) == "allow"


@both
def test_shared_objects_are_refused_where_there_is_no_namespace(architecture: Architecture) -> None:
    permitted = AllowedCalls(shared_objects=False)
    assert {ask(architecture, name, permitted=permitted) for name in SHARED_OBJECTS} == {EPERM}
    assert {ask(architecture, name) for name in SHARED_OBJECTS} == {"allow"}


@both
def test_only_the_question_for_the_personality_is_answered(architecture: Architecture) -> None:
    answers = [ask(architecture, "personality", value) for value in (0, 0xFFFFFFFF, 0x0040000, 8)]
    assert answers == ["allow", "allow", EPERM, EPERM]


def test_a_jump_too_far_is_refused() -> None:
    program = Assembler()
    program.jump(JUMP_EQUAL, 1, then="far")
    for _ in range(300):
        program.return_action(0)
    program.label("far")
    program.return_action(0)
    with pytest.raises(ValueError, match="cannot reach"):
        program.assemble()


def test_a_program_too_long_is_refused() -> None:
    program = Assembler()
    for _ in range(5000):
        program.return_action(0)
    with pytest.raises(ValueError, match="more than the kernel takes"):
        program.assemble()
