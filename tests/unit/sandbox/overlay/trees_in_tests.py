"""Trees for tests: a workspace with a bit of everything, edits that can be repeated anywhere, and what a tree is."""

import os
import random
import shutil
import stat
from pathlib import Path

NAMES = ("a", "b", "c", "sub", "d e", "ü")
MODES = (0o644, 0o600, 0o755, 0o444)
DIRECTORY_MODES = (0o755, 0o700, 0o555)


def fill(workspace: Path) -> None:
    """Files, directories, links, modes, and what is protected."""
    for directory in ("src/deep/deeper", "docs", ".git/hooks", "empty"):
        (workspace / directory).mkdir(parents=True)
    for name in ("README", "src/main.py", "src/deep/x", "src/deep/deeper/y", "docs/index", ".git/HEAD"):
        (workspace / name).write_text(f"{name}\n" * 20)
    (workspace / "src/run.sh").write_text("#!/bin/sh\n")
    (workspace / "src/run.sh").chmod(0o755)
    (workspace / "link").symlink_to("src/main.py")
    (workspace / "lost").symlink_to("nowhere")
    (workspace / ".env").write_text("KEY=hush\n")


def tree(root: Path, *, without: tuple[str, ...] = (".skills_runtime_sdk",)) -> dict[str, tuple[str, int, str]]:
    """Everything in a tree but times: kind, mode, and content."""
    found: dict[str, tuple[str, int, str]] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.split("/")[0] in without:
            continue
        info = path.lstat()
        mode = stat.S_IMODE(info.st_mode)
        if stat.S_ISLNK(info.st_mode):
            found[name] = ("link", 0, str(path.readlink()))
        elif stat.S_ISDIR(info.st_mode):
            found[name] = ("directory", mode, "")
        else:
            found[name] = ("file", mode, path.read_bytes().hex())
    return found


def edit(root: Path, seed: int, *, number: int = 25) -> None:
    """Change a tree in ways that depend on nothing but the seed and what the tree is."""
    chance = random.Random(seed)
    for _ in range(number):
        places = sorted(path for path in [root, *root.rglob("*")] if path.is_dir() and not path.is_symlink())
        places = [path for path in places if not set(path.relative_to(root).parts) & {".git", ".skills_runtime_sdk"}]
        _edit_one(chance.choice(places) / chance.choice(NAMES), chance)


def _edit_one(path: Path, chance: random.Random) -> None:
    path.parent.chmod(path.parent.stat().st_mode | stat.S_IRWXU)
    match chance.choice(("write", "write", "directory", "link", "remove", "mode", "append", "move")):
        case "write" | "append" if not path.is_dir() or path.is_symlink():
            path.unlink(missing_ok=True)
            path.write_text(f"{chance.random()}\n" * chance.randrange(3))
        case "directory" if not os.path.lexists(path):
            path.mkdir()
        case "link" if not os.path.lexists(path):
            path.symlink_to(chance.choice(("a", "../b", "/etc/passwd", "nowhere", "..")))
        case "remove" if os.path.lexists(path):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        case "mode" if path.exists() and not path.is_symlink():
            path.chmod(chance.choice(DIRECTORY_MODES if path.is_dir() else MODES))
        case "move" if os.path.lexists(path):
            target = path.with_name(chance.choice(NAMES))
            if not os.path.lexists(target):
                path.rename(target)
        case _:
            return
