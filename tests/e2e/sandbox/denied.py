"""Commands that the fence stops, each with what has to be said about it; `OUT` is a directory outside the workspace."""

from dataclasses import dataclass

from skills_runtime.sandbox.denials import What

NO_GRANT = ""
HOST = "example.com:443"


@dataclass(frozen=True)
class Stopped:
    """A command, what it was kept from, and what would let it go on."""

    command: str
    what: What
    target: str
    grant: str = NO_GRANT


def python(code: str) -> str:
    return f"python3 -c '{code}'"


def node(code: str) -> str:
    return f"node -e '{code}'"


WRITES_OUTSIDE = [
    Stopped("touch OUT/new", "write", "OUT/new", "write to `OUT`"),
    Stopped("echo x > OUT/file.txt", "write", "OUT/file.txt", "write to `OUT/file.txt`"),
    Stopped("echo x >> OUT/new.txt", "write", "OUT/new.txt", "write to `OUT`"),
    Stopped("sh -c 'echo x > OUT/new'", "write", "OUT/new", "write to `OUT`"),
    Stopped("mkdir OUT/made", "write", "OUT/made", "write to `OUT`"),
    Stopped("mkdir -p OUT/a/b", "write", "BASE"),
    Stopped("cp a OUT/copy", "write", "OUT/copy", "write to `OUT`"),
    Stopped("ln -s a OUT/link", "write", "OUT/link", "write to `OUT`"),
    Stopped("tee OUT/new < a", "write", "OUT/new", "write to `OUT`"),
    Stopped("dd if=a of=OUT/new", "write", "OUT/new", "write to `OUT`"),
    Stopped("gcc -o OUT/program ok.c", "write", "OUT/program", "write to `OUT`"),
    Stopped("git init OUT/repo", "write", "OUT/repo", "write to `OUT`"),
    Stopped("git clone . OUT/clone", "write", "OUT/clone", "write to `OUT`"),
    Stopped(python('import os; os.mkdir("OUT/made")'), "write", "OUT/made", "write to `OUT`"),
    Stopped(node('require("fs").mkdirSync("OUT/made")'), "write", "OUT/made", "write to `OUT`"),
]
WRITES_TO_THE_SYSTEM = [
    Stopped("mkdir /data", "write", "/data"),
    Stopped("mkdir /usr/made", "write", "/usr/made"),
    Stopped("echo x > /etc/passwd", "write", "/etc/passwd"),
    Stopped("cp a /usr/local/bin/a", "write", "/usr/local/bin/a"),
    Stopped("mv a /usr/a", "write", "/usr/a"),
    Stopped("rm -rf /usr/bin/env", "write", "/usr/bin/env"),
    Stopped("ln -s a /usr/link", "write", "/usr/link"),
    Stopped("sh -c 'echo x > /usr/y'", "write", "/usr/y"),
    Stopped("tee /usr/y < a", "write", "/usr/y"),
    Stopped("chmod 777 /usr/bin/env", "write", "/usr/bin/env"),
    Stopped("tar cf /usr/x.tar a", "write", "/usr/x.tar"),
    Stopped("truncate -s 0 /usr/bin/env", "write", "/usr/bin/env"),
    Stopped("install a /usr/bin/a", "write", "/usr/bin/a"),
    Stopped("mktemp /usr/x.XXXXXX", "write", "/usr/x.XXXXXX"),
    Stopped("gcc -o /usr/x ok.c", "write", "/usr/x"),
    Stopped(python('open("/usr/x", "w")'), "write", "/usr/x"),
    Stopped(python('import shutil; shutil.copy("a", "/usr/x")'), "write", "/usr/x"),
    Stopped(node('require("fs").writeFileSync("/usr/x", "")'), "write", "/usr/x"),
    Stopped("perl -e 'open(F, \">\", \"/usr/x\") or die \"cannot open /usr/x: $!\"'", "write", "/usr/x"),
]  # fmt: skip
READS = [
    Stopped("cat OUT/file.txt", "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped("ls OUT", "read", "OUT", "read `OUT`"),
    Stopped("cd OUT", "read", "OUT", "read `OUT`"),
    Stopped("cp OUT/file.txt .", "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped("grep x OUT/file.txt", "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped("head OUT/file.txt", "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped("sort OUT/file.txt", "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped("find OUT", "read", "OUT", "read `OUT`"),
    Stopped("wc -l < OUT/file.txt", "read", "OUT/file.txt", "read `OUT/file.txt`"),
    Stopped("tar cf x.tar OUT/file.txt", "read", "OUT/file.txt", "read `OUT/file.txt`"),
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
    Stopped("mkdir .claude", "write", "WS/.claude"),
    Stopped("echo x > .git/hooks/pre-commit", "write", "WS/.git/hooks/pre-commit"),
    Stopped("git config user.name x", "write", "WS/.git/config"),
    Stopped("git commit --allow-empty -m y", "write", "WS/.git/index.lock"),
    Stopped("git add a", "write", "WS/.git/index.lock"),
    Stopped("mv .git elsewhere", "write", "WS/.git"),
    Stopped("rm .mcp.json", "write", "WS/.mcp.json"),
    Stopped("tee .mcp.json < a", "write", "WS/.mcp.json"),
]
NETWORK = [
    Stopped("curl -sS https://example.com", "network", HOST, f"reach `{HOST}`"),
    Stopped("wget https://example.com", "network", HOST, f"reach `{HOST}`"),
    Stopped("git clone https://example.com/a/b x", "network", HOST, f"reach `{HOST}`"),
    Stopped("curl -sS http://93.184.216.34", "network", "93.184.216.34:80", "reach `93.184.216.34:80`"),
    Stopped("curl -sS http://10.0.0.1", "network", "10.0.0.1:80"),
    Stopped("curl -sS http://169.254.169.254/latest", "network", "169.254.169.254:80"),
    Stopped("ssh git@example.com", "network", "example.com:22", "reach `example.com:22`"),
    Stopped(node('fetch("https://example.com")'), "network", HOST, f"reach `{HOST}`"),
    Stopped(python('import urllib.request as r; r.urlopen("https://example.com")'), "network", ""),
    Stopped(python('import socket; socket.create_connection(("93.184.216.34", 443))'), "network", ""),
]
CALLS = [
    Stopped("unshare -U true", "system_call", "unshare"),
    Stopped("mount -t tmpfs x /mnt", "system_call", "mount"),
    Stopped("chroot . true", "system_call", "chroot"),
    Stopped("mknod device c 1 3", "system_call", "mknod"),
    Stopped("date -s 2020-01-01", "system_call", "date"),
    Stopped(python("import socket; socket.socket(socket.AF_UNIX)"), "system_call", "socket"),
]
LIMITS = [
    Stopped("dd if=/dev/zero of=big bs=1M count=100", "limit", "file_bytes", "raise `file_bytes` to 134217728"),
    Stopped(python("bytearray(900 << 20)"), "limit", "memory_bytes", "raise `memory_bytes` to 1073741824"),
    Stopped(python('a = [open("a") for _ in range(2000)]'), "limit", "open_files", "raise `open_files` to 2048"),
    Stopped("for i in 1 2 3; do head -c 60M /dev/zero > /tmp/$i || exit 1; done", "limit", "temporary_bytes",
            "raise `temporary_bytes` to 268435456"),
    Stopped("for i in $(seq 300); do sleep 9 & done; wait", "limit", "processes", "raise `processes` to 400"),
]  # fmt: skip

STOPPED = [*WRITES_OUTSIDE, *WRITES_TO_THE_SYSTEM, *READS, *PROTECTED, *NETWORK, *CALLS, *LIMITS]

ORDINARY = [
    "false", "exit 3", "exit 137", "kill -9 $$", "kill -SEGV $$", "test -e nothing", "grep nothing a", "diff a ok.c",
    "cmp a ok.c", "expr 1 / 0", "timeout 0.1 sleep 5", "cat missing", "ls /nonexistent/directory", "cd nowhere",
    "touch sub/none/x", "mkdir sub", "rm missing", "mv missing x", "cp missing x", "tar xf missing.tar", "sort missing",
    "sed -i s/a/b/ missing", "wc missing", "head missing", "find /nonexistent", "rmdir .", "ln a a", "echo x > sub",
    "./a", "nosuchprogram", "env nosuchprogram", "xargs nosuch < a", "make", "gcc -c missing.c", "ld missing.o",
    "echo 'int main(){return x;}' > bad.c; gcc bad.c", "printf 'all:\\n\\tfalse\\n' > Makefile; make",
    "chmod 555 sub; touch sub/x; code=$?; chmod 755 sub; exit $code",
    "chmod 000 a; cat a; code=$?; chmod 644 a; exit $code",
    "git log nosuch", "git push", "git status --nonsense", "git clone ./missing z", "git show nosuch:file",
    "curl -sS http://127.0.0.1:9", "curl -sS http://localhost:9", "curl nonsense://x", "python3 missing.py",
    python("assert 1 == 2"), python("import nosuchmodule"), python('open("missing.txt")'),
    python('open("/nonexistent")'),
    python('raise PermissionError("not yours")'), python('raise PermissionError(13, "Permission denied", "sub/x")'),
    python('import json; json.loads("{")'), python('import socket; socket.create_connection(("127.0.0.1", 9))'),
    python('import sys; sys.exit("1 failed, 3 passed")'), python("import os; os.abort()"),
    'echo \'FAILED test_x - assert "Permission denied" in out\'; exit 1',
    "echo \"E   AssertionError: 'Read-only file system' != 'ok'\"; exit 1",
    'echo "E   AssertionError: Network is up"; exit 1',
    'echo "tests/test_disk.py::test_no_space_left FAILED"; exit 1',
    node('throw new Error("x")'), "node missing.js", "perl -e 'die \"x\"'", "perl missing.pl",
]  # fmt: skip
"""Commands that fail by themselves."""
