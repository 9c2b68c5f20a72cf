"""Apply Landlock and seccomp in the one order that works, then execute the command; on any error start nothing.

Run as a script by a bare interpreter. The descriptor number of the specification may be its only argument.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from typing import Any, NoReturn

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL
READING = EXECUTE | READ_FILE | READ_DIR
ACCESS_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
ALL_ACCESS_RIGHTS = (1 << 16) - 1
TCP = 0b11
SCOPES = 0b11
NETWORK_VERSION, SCOPES_VERSION = 4, 6
SET_PARENT_DEATH_SIGNAL, SET_SECCOMP, DROP_BOUNDING, SET_NO_NEW_PRIVILEGES, AMBIENT = 1, 22, 24, 38, 47
FILTER_MODE = 2
CLEAR_AMBIENT = 4
LAST_CAPABILITY = 63
CAPABILITY_VERSION = 0x20080522
_library = ctypes.CDLL(None, use_errno=True)
SPECIFICATION = 3
"""The descriptor from which the specification is read."""
MIN_OPEN_MAX = 1 << 16
REFUSED = 126
NOT_FOUND = 127


def main() -> NoReturn:
    """Execute the command of the specification."""
    with open(int(sys.argv[1]) if len(sys.argv) > 1 else SPECIFICATION, encoding="utf-8") as file:
        specification: dict[str, Any] = json.load(file)
    os.closerange(SPECIFICATION, max(MIN_OPEN_MAX, os.sysconf("SC_OPEN_MAX")))
    argv = [_raw(argument) for argument in specification["argv"]]
    environment = {_raw(name): _raw(value) for name, value in specification["environment"].items()}
    try:
        _restrict(specification)
    except OSError as error:
        _say(f"the sandbox could not be set up: {error}")
        os._exit(REFUSED)
    try:
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        _say(f"{os.fsdecode(argv[0])}: {error.strerror}")
        os._exit(NOT_FOUND)


def _restrict(specification: "dict[str, Any]") -> None:
    control(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    os.chdir(_raw(specification["cwd"]))
    for name, value in specification["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    refuse_privileges()
    drop_capabilities()
    confine(specification["reading"], specification["writing"])
    # Last: the filter refuses some of the calls above.
    filter_calls(_raw(specification["filter"]))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def version() -> int:
    """Return the Landlock ABI version of the kernel; raise `OSError` without Landlock."""
    return _call(CREATE_RULESET, None, 0, ASK_VERSION)


def confine(reading: "list[str]", writing: "list[str]") -> None:
    """Restrict access to these paths; missing ones need no rule."""
    present = version()
    handled = ACCESS_RIGHTS.get(present, ALL_ACCESS_RIGHTS)
    fields = [handled, TCP if present >= NETWORK_VERSION else 0, SCOPES if present >= SCOPES_VERSION else 0]
    size = 24 if present >= SCOPES_VERSION else 16 if present >= NETWORK_VERSION else 8
    ruleset = _call(CREATE_RULESET, struct.pack("QQQ", *fields)[:size], size, 0)
    for path in reading:
        _allow(ruleset, path, READING)
    for path in writing:
        _allow(ruleset, path, handled)
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def refuse_privileges() -> None:
    """Set `no_new_privs`: no program started later gains rights."""
    control(SET_NO_NEW_PRIVILEGES, 1)


def drop_capabilities() -> None:
    """Drop the capabilities of root."""
    for capability in range(LAST_CAPABILITY + 1):
        # The kernel refuses capabilities it does not know.
        _library.prctl(DROP_BOUNDING, capability, 0, 0, 0)
    control(AMBIENT, CLEAR_AMBIENT)
    header, none = struct.pack("II", CAPABILITY_VERSION, 0), bytes(24)
    if _library.capset(header, none) != 0:
        raise _error()


def filter_calls(program: bytes) -> None:
    """Install the seccomp filter."""
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    if _library.prctl(SET_SECCOMP, FILTER_MODE, ctypes.c_char_p(described), 0, 0) != 0:
        raise _error()


def control(option: int, value: int) -> None:
    """Call `prctl`; raise `OSError` when it fails."""
    if _library.prctl(option, value, 0, 0, 0) != 0:
        raise _error()


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        directory = os.fstat(descriptor).st_mode & 0o170000 == 0o040000
        _call(
            ADD_RULE,
            ruleset,
            PATH_BENEATH,
            struct.pack("=Qi", access if directory else access & OF_FILES, descriptor),
            0,
        )
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: "int | bytes | None") -> int:
    converted = [
        ctypes.c_long(argument) if isinstance(argument, int) else ctypes.c_char_p(argument) for argument in arguments
    ]
    result = _library.syscall(ctypes.c_long(number), *converted)
    if result < 0:
        raise _error()
    return result


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


def _raw(text: str) -> bytes:
    """Decode bytes encoded as Latin-1 characters, since JSON has no bytes."""
    return text.encode("latin-1")


def _say(text: str) -> None:
    sys.stderr.write(f"skills-runtime: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
