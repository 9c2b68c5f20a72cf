"""Commands that the fence stops, each with what has to be said about it; `OUT` is a directory outside the workspace."""

from dataclasses import dataclass

from skills_runtime.sandbox.denials import DeniedAction

NO_GRANT = ""


@dataclass(frozen=True)
class Stopped:
    """A command, what it was kept from, and what would let it go on."""

    command: str
    what: DeniedAction
    target: str
    grant: str = NO_GRANT


def python(code: str) -> str:
    return f"python3 -c '{code}'"


def node(code: str) -> str:
    return f"node -e '{code}'"


WRITES_OUTSIDE = [
    Stopped("touch OUT/new", "write", "OUT/new", "write to `OUT`"),
    Stopped("echo x > OUT/file.txt", "write", "OUT/file.txt", "write to `OUT/file.txt`"),
    Stopped("sh -c 'echo x > OUT/new'", "write", "OUT/new", "write to `OUT`"),
    Stopped("mkdir -p OUT/a/b", "write", "BASE"),
    Stopped("cp a OUT/copy", "write", "OUT/copy", "write to `OUT`"),
    Stopped("dd if=a of=OUT/new", "write", "OUT/new", "write to `OUT`"),
    Stopped("gcc -o OUT/program ok.c", "write", "OUT/program", "write to `OUT`"),
    Stopped("git clone . OUT/clone", "write", "OUT/clone", "write to `OUT`"),
    Stopped(python('import os; os.mkdir("OUT/made")'), "write", "OUT/made", "write to `OUT`"),
    Stopped(node('require("fs").mkdirSync("OUT/made")'), "write", "OUT/made", "write to `OUT`"),
]
WRITES_TO_THE_SYSTEM = [
    Stopped("mkdir /data", "write", "/data"),
    Stopped("mkdir /usr/made", "write", "/usr/made"),
    Stopped("echo x > /etc/passwd", "write", "/etc/passwd"),
    Stopped("mv a /usr/a", "write", "/usr/a"),
    Stopped("rm -rf /usr/bin/env", "write", "/usr/bin/env"),
    Stopped("chmod 777 /usr/bin/env", "write", "/usr/bin/env"),
    Stopped(python('open("/usr/x", "w")'), "write", "/usr/x"),
    Stopped(node('require("fs").writeFileSync("/usr/x", "")'), "write", "/usr/x"),
    Stopped("perl -e 'open(F, \">\", \"/usr/x\") or die \"cannot open /usr/x: $!\"'", "write", "/usr/x"),
]  # fmt: skip
READS = [
    Stopped("cat OUT/file.txt", "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped("cd OUT", "read", "OUT", "read `OUT`"),
    Stopped("grep x OUT/file.txt", "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped("find OUT", "read", "OUT", "read `OUT`"),
    Stopped("gcc -c OUT/file.c", "read", "OUT/file.c", "read `OUT/file.c`"),
    Stopped("python3 OUT/file.py", "read", "OUT/file.py", "read `OUT/file.py`"),
    Stopped(python('open("OUT/file.txt")'), "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped(node('require("fs").readFileSync("OUT/file.txt")'), "read", "OUT/file.txt", "read `OUT/file.txt`"),
]
PROTECTED = [
    Stopped("echo x > .env", "read", "WS/.env"),  # reading shows an empty file, of which no program complains
    Stopped(python('open(".env", "w")'), "read", "WS/.env"),
    Stopped("cat .skills_runtime_sdk/runtime/server.json", "read", "WS/.skills_runtime_sdk/runtime/server.json"),
    Stopped("echo x > .mcp.json", "write", "WS/.mcp.json"),
    Stopped("echo x > .vscode/tasks.json", "write", "WS/.vscode/tasks.json"),
    Stopped("echo x > .git/hooks/pre-commit", "write", "WS/.git/hooks/pre-commit"),
    Stopped("git config user.name x", "write", "WS/.git/config"),
    Stopped("rm .git/config", "write", "WS/.git/config"),
]
LIMITS = [
    Stopped("dd if=/dev/zero of=big bs=1M count=100", "limit", "file_bytes", "raise `file_bytes` to 134217728"),
    Stopped(python("bytearray(900 << 20)"), "limit", "memory_bytes", "raise `memory_bytes` to 1073741824"),
    Stopped("for i in $(seq 300); do sleep 9 & done; wait", "limit", "processes", "raise `processes` to 400"),
]  # fmt: skip

STOPPED = [*WRITES_OUTSIDE, *WRITES_TO_THE_SYSTEM, *READS, *PROTECTED, *LIMITS]

ORDINARY = [
    "false", "exit 137", "kill -9 $$", "test -e nothing", "grep nothing a", "cat missing", "ls /nonexistent/directory",
    "cd nowhere", "touch sub/none/x", "mkdir sub", "rm missing", "mv missing x", "tar xf missing.tar",
    "find /nonexistent", "echo x > sub", "./a", "nosuchprogram", "env nosuchprogram", "make", "gcc -c missing.c",
    "chmod 555 sub; touch sub/x; code=$?; chmod 755 sub; exit $code",
    "chmod 000 a; cat a; code=$?; chmod 644 a; exit $code",
    "git log nosuch", "git clone ./missing z", "curl -sS http://127.0.0.1:9", "python3 missing.py",
    python("import nosuchmodule"), python('open("missing.txt")'), python('open("/nonexistent")'),
    python('raise PermissionError("not yours")'), python('raise PermissionError(13, "Permission denied", "sub/x")'),
    'echo \'FAILED test_x - assert "Permission denied" in out\'; exit 1',
    "echo \"E   AssertionError: 'Read-only file system' != 'ok'\"; exit 1",
    "node missing.js", "perl missing.pl",
]  # fmt: skip
"""Commands that fail by themselves."""
