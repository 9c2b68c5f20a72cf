"""Attempts to write outside the workspace, and to what is protected in it."""

from pathlib import Path

from tests.e2e.sandbox.arena import Arena, Outcome
from tests.e2e.sandbox.attempt import Attempt, changed, exists

OUTSIDE = "outside/file.txt"


def _writes(name: str, code: str, path: str = OUTSIDE) -> Attempt:
    return Attempt(name, "files", code, changed(path))


def _mode_changed(arena: Arena, outcome: Outcome) -> bool:
    del outcome
    found = (arena.outside / "file.txt").stat()
    return found.st_mode & 0o777 == 0o777 or found.st_mtime == 1


def _host_file(path: str) -> Attempt:
    def truth(arena: Arena, outcome: Outcome) -> bool:
        del arena, outcome
        return Path(path, "escape-canary").exists()

    return Attempt(f"create a file in {path}", "files", f"write('{path}/escape-canary')", truth)


WRITES = [
    _writes("overwrite a file outside", "write(arena['outside'] + '/file.txt')"),
    _writes("append to a file outside", "open(arena['outside'] + '/file.txt', 'a').write('x')"),
    _writes("cut a file outside", "os.truncate(arena['outside'] + '/file.txt', 0)"),
    _writes("delete a file outside", "os.unlink(arena['outside'] + '/file.txt')"),
    _writes("rename a file over one outside", "os.rename('file.txt', arena['outside'] + '/file.txt')"),
    _writes("write through a hard link", "os.link(arena['outside'] + '/file.txt', 'l'); write('l')"),
    _writes("write through a link", "os.symlink(arena['outside'] + '/file.txt', 'l'); write('l')"),
    _writes("write through a linked directory", "os.symlink(arena['outside'], 'd'); write('d/file.txt')"),
    _writes("climb out by dots", "write('../outside/file.txt')"),
    _writes("leave by the own root", "write('/proc/self/root' + arena['outside'] + '/file.txt')"),
    _writes("leave by the root of the first process", "write('/proc/1/root' + arena['outside'] + '/file.txt')"),
    _writes("leave by the own directory", "write('/proc/self/cwd/../outside/file.txt')"),
    _writes("leave by the parent's directory", "write('/proc/1/cwd/' + arena['outside'] + '/file.txt')"),
    _writes("leave by the old root of bubblewrap", "write('/oldroot' + arena['outside'] + '/file.txt')"),
    _writes("write a start-up file at home", "write(arena['outside'] + '/home/.bashrc')", "outside/home/.bashrc"),
    Attempt("create a file outside", "files", "write(arena['outside'] + '/new')", exists("outside/new")),
    Attempt("create a file beside the workspace", "files", "write('../new')", exists("new")),
    Attempt(
        "link an unnamed file into a place outside", "files",
        "fd = os.open('.', os.O_TMPFILE | os.O_WRONLY)\n"
        "os.link(f'/proc/self/fd/{fd}', arena['outside'] + '/new', follow_symlinks=True)", exists("outside/new"),
    ),
    Attempt("change the mode outside", "files", "os.chmod(arena['outside'] + '/file.txt', 0o777)", _mode_changed),
    Attempt("change the times outside", "files", "os.utime(arena['outside'] + '/file.txt', (1, 1))", _mode_changed),
    Attempt("rename the workspace itself", "files", "os.rename(arena['workspace'], arena['workspace'] + '2')",
            exists("workspace2")),
    *(_host_file(path) for path in ("/etc", "/usr", "/usr/local/bin", "/tmp", "/var/tmp", "/dev/shm", "/opt")),
]  # fmt: skip


def _protected(name: str, code: str, *paths: str) -> Attempt:
    """What is named must be as it was, or must not be there if it was not."""

    def truth(arena: Arena, outcome: Outcome) -> bool:
        del outcome
        return any(_touched(arena.workspace / path) for path in paths)

    return Attempt(name, "protected", code, truth)


def _touched(path: Path) -> bool:
    if path.is_symlink() or (path.name == "config" and path.parent.name == ".git" and not path.is_file()):
        return True
    return path.exists() and (path.is_dir() or "changed" in path.read_text())


MISSING = (".agent", ".agents", ".claude", ".codex", ".cursor", ".gemini", ".idea", ".bashrc", ".zshrc", ".profile")


def _removed(name: str) -> str:
    """Code that tries to take away whatever keeps a name free."""
    ways = "os.unlink, os.rmdir, lambda name: os.rename(name, 'away')"
    return f"for way in ({ways}):\n    try: way('{name}')\n    except OSError: pass\n"


PROTECTED = [
    _protected("write a hook", "write('.git/hooks/pre-commit')", ".git/hooks/pre-commit"),
    _protected("append to the configuration of git", "open('.git/config', 'a').write('changed')", ".git/config"),
    _protected("have git change its configuration",
               "subprocess.run(['git', 'config', 'core.hooksPath', 'changed'])", ".git/config"),
    _protected("replace the configuration of git", "write('n'); os.rename('n', '.git/config')", ".git/config"),
    _protected("put another repository in place", "os.rename('.git', 'old'); os.makedirs('.git/hooks');"
               " write('.git/hooks/pre-commit')", ".git/hooks/pre-commit", ".git/config"),
    _protected("write a worktree's configuration", "write('.git/config.worktree')", ".git/config.worktree"),
    _protected("redirect the repository", "write('.git/commondir', 'changed')", ".git/commondir"),
    _protected("add a hook directory for a submodule", "os.makedirs('.git/modules/m/hooks')", ".git/modules/m/hooks"),
    _protected("write a hook of a nested repository", "write('nested/.git/hooks/pre-commit')",
               "nested/.git/hooks/pre-commit"),
    _protected("swap the parent of a nested repository", "os.rename('nested', 'old'); os.makedirs('nested/.git/hooks');"
               " write('nested/.git/hooks/pre-commit')", "nested/.git/hooks/pre-commit", "nested/.git/config"),
    _protected("configure an editor in a nested repository", "os.mkdir('nested/.vscode'); "
               "write('nested/.vscode/tasks.json')", "nested/.vscode"),
    _protected("change the tasks of an editor", "write('.vscode/tasks.json')", ".vscode/tasks.json"),
    _protected("rename the directory of an editor", "os.rename('.vscode', 'v'); os.mkdir('.vscode');"
               " write('.vscode/tasks.json')", ".vscode/tasks.json"),
    _protected("change the servers of an agent", "write('.mcp.json')", ".mcp.json"),
    _protected("delete and rewrite the servers of an agent", "os.unlink('.mcp.json'); write('.mcp.json')", ".mcp.json"),
    _protected("write to the runtime's directory", "write('.skills_runtime_sdk/runtime/server.json')",
               ".skills_runtime_sdk/runtime/server.json"),
    _protected("rename the runtime's directory", "os.rename('.skills_runtime_sdk', 'r')", "r"),
    *(_protected(f"make {name}", f"{_removed(name)}os.mkdir('{name}'); write('{name}/x')", name) for name in MISSING),
    *(_protected(f"write {name} as a file", f"{_removed(name)}write('{name}')", name)
      for name in (".bashrc", ".gitmodules")),
    _protected("rename a file to the name of an agent", "write('n'); os.rename('n', '.claude')", ".claude"),
    _protected("rename a directory to the name of an agent", "os.mkdir('n'); write('n/x'); os.rename('n', '.claude')",
               ".claude"),
    _protected("link a file to the name of an agent", "write('n'); os.link('n', '.claude')", ".claude"),
    _protected("put a link in place of an agent", "os.symlink('/etc', '.claude')", ".claude"),
    _protected("exchange the servers of an agent", "os.mkdir('n')\ncall(316, -100, b'n', -100, b'.mcp.json', 2)",
               ".mcp.json"),
    *(_protected(f"make {name} in a directory", f"os.makedirs('deep/er'); write('deep/er/{name}')", f"deep/er/{name}")
      for name in (".envrc", ".npmrc", ".env", ".env.local", ".devcontainer.json", "x.code-workspace", ".mcp.json")),
    *(_protected(f"write {name}", f"os.makedirs('config', exist_ok=True); write('{name}')", name)
      for name in ("config/runtime.yaml", "config/rules.yaml", "kgent.yaml")),
    _protected("make a repository", "subprocess.run(['git', 'init', '-q', 'made'])", "made/.git"),
    _protected("clone a repository", "subprocess.run(['git', 'clone', '-q', 'nested', 'made'])", "made/.git"),
    _protected("make a repository without a work tree", "subprocess.run(['git', 'init', '-q', '--bare', 'made'])",
               "made/HEAD"),
    _protected("make a repository that lies elsewhere", "os.makedirs('s/objects'); os.mkdir('s/refs'); os.mkdir('m')\n"
               "write('m/HEAD'); write('m/commondir'); write('s/config')", "m/HEAD"),
    _protected("point to a repository by a file", "os.mkdir('m'); write('m/.git')", "m/.git"),
    _protected("point to a repository by a link", "os.mkdir('m'); os.symlink('../nested/.git', 'm/.git')", "m/.git"),
    _protected("add a submodule with hooks", "os.makedirs('.git/modules/m/hooks'); write('.git/modules/m/HEAD')\n"
               "write('.git/modules/m/config')", ".git/modules/m/hooks", ".git/modules/m/config"),
    _protected("lead submodules elsewhere", "os.makedirs('e/m/hooks'); os.symlink('../e', '.git/modules')",
               ".git/modules"),
    _protected("lead a work tree elsewhere", "os.makedirs('.git/worktrees/w'); write('.git/worktrees/w/HEAD')\n"
               "write('.git/worktrees/w/commondir'); write('.git/worktrees/w/gitdir')", ".git/worktrees/w/commondir",
               ".git/worktrees/w/gitdir"),
    _protected("write attributes of a repository", "os.mkdir('.git/info'); write('.git/info/attributes')",
               ".git/info/attributes"),
    _protected("take the rights away that moving needs", "os.mkdir('m'); os.mkdir('m/.vscode'); write('m/.vscode/x')\n"
               "os.chmod('m/.vscode', 0); os.chmod('m', 0o555)", "m/.vscode"),
]  # fmt: skip

ATTEMPTS = [*WRITES, *PROTECTED]
