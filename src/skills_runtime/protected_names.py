"""Names of files that other programs execute or obey, and of files that hold secrets, in any directory; pure.

One list for the sandbox, the file tools and grants.
"""

import re

REPOSITORY = ".git"
GIT_CONTROL_PATHS = ("hooks", "config", "config.worktree", "commondir", "gitdir", "info/attributes")
"""Paths that make git run commands or look for them elsewhere; the rest of a repository is data."""

AUTOLOADED_NAMES = frozenset(
    {
        ".agent", ".agents", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".goose", ".openhands", ".copilot",
        ".windsurf", ".continue", ".kiro", ".roo", ".trae", ".junie", ".qwen", ".amazonq", ".mcp.json",
        ".aider.conf.yml", ".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".devcontainer.json",
        ".dir-locals.el", ".exrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".gdbinit", ".lldbinit", ".envrc", ".autoenv",
        ".autoenv.zsh", ".mise.toml", ".husky", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".hg",
        ".svn", ".bzr",
    }
)  # fmt: skip
"""Files that agents, editors and tools obey when they open a directory."""
AUTOLOADED_SUFFIX = ".code-workspace"

STARTUP_FILES = frozenset(
    {
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
        ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
        ".inputrc", ".gitconfig", ".gitmodules", ".ripgreprc",
    }
)  # fmt: skip
"""Files that shells and common programs run or obey at their start."""

LOGIN_PATHS = (
    ".config/autostart", ".config/autostart-scripts", ".config/systemd", ".config/environment.d", ".config/fish",
    ".config/git", ".config/nvim", ".config/emacs", ".config/Code", ".config/Cursor", ".config/pip", ".config/uv",
    ".config/zsh", ".config/plasma-workspace", ".config/claude", ".config/codex", ".config/gemini", ".config/opencode",
    ".config/aider", ".config/goose", ".config/zed", ".local/bin", ".local/lib", ".local/share/applications",
    ".local/share/systemd", ".local/share/dbus-1", ".local/share/nvim", ".local/share/uv", ".local/share/pipx",
    ".local/share/skills-runtime",
    ".cargo/bin", ".cargo/config", ".cargo/config.toml", ".cargo/env", ".rustup", ".pyenv", ".nvm", ".rbenv", ".asdf",
    ".sdkman", ".volta", ".bun/bin", ".deno/bin", ".npm-global", ".oh-my-zsh", ".antigen", ".zsh", ".vim", ".vimrc",
    ".emacs", ".emacs.d", ".tmux.conf", ".screenrc", ".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".Xresources",
    ".pam_environment", ".pip", ".pydistutils.cfg", ".condarc", ".irbrc", ".pryrc", ".gdbinit", ".lldbinit", ".curlrc",
    ".wgetrc", ".mailcap", ".pythonrc", ".pythonstartup", ".ipython", ".jupyter", ".direnvrc", ".envrc", ".continue",
    ".windsurf", ".aider.conf.yml", ".opencode", ".crontab", "Library/LaunchAgents", "Library/LaunchDaemons",
    "Library/Application Scripts", "Library/Preferences",
)  # fmt: skip
"""Files below a home that sessions, shells, editors, agents and package managers run or read at their start."""

RUN_CONFIG_FILES = ("config/runtime.yaml", "config/rules.yaml", "kgent.yaml")
"""Files that the next run in a workspace obeys, besides `.env`."""

ENV_FILE_PREFIX = ".env"
"""Prefix of the names of files with secrets."""
SECRET_TEMPLATES = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})
"""Templates without secrets."""

CREDENTIAL_NAMES = frozenset(
    (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".pypirc", ".git-credentials")
)
"""Credentials in a home directory; hidden only at the top of a workspace, where the name is no coincidence."""

HOME_SECRET_PATHS = (
    ".npmrc", ".yarnrc.yml", ".password-store", ".vault-token", ".terraform.d", ".config/gcloud", ".config/gh",
    ".config/op", ".config/hub", ".config/skills_runtime", ".local/share/keyrings", ".local/state/skills_runtime",
    ".mozilla", ".config/google-chrome", ".config/chromium", ".cargo/credentials", ".cargo/credentials.toml",
    ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".terraformrc", ".boto", ".s3cfg",
    ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
    ".sqlite_history", ".rediscli_history", ".lesshst", ".viminfo", ".htpasswd", ".my.cnf",
    ".config/rclone", ".config/sops", ".config/age", ".config/containers", ".config/glab-cli", ".config/doctl",
    ".config/microsoft-edge", ".config/BraveSoftware", ".config/Signal", ".config/Slack", ".config/discord",
    ".config/filezilla", ".local/share/password-store", ".local/share/kwalletd", ".thunderbird", ".electrum",
    ".bitcoin", ".ethereum", "Library/Keychains", "Library/Cookies", "Library/Application Support/Google",
    "Library/Application Support/Firefox",
)  # fmt: skip
"""Further secrets in a home directory that would be mere settings elsewhere."""

KEY_SUFFIXES = frozenset({"pem", "key", "p12", "pfx", "kdbx", "jks", "keystore", "gpg"})
KEY_NAMES = frozenset({"credentials", "credentials.json", "credentials.toml"})
_KEY_FILE = re.compile(r"id_(rsa|dsa|ecdsa|ed25519)(_\w+)?(\.(?!pub$)\w+)?|\..*_history", re.IGNORECASE)


def is_key_file(name: str) -> bool:
    """Return whether a file of this name holds a key, a password or an input history."""
    if name.rpartition(".")[2].lower() in KEY_SUFFIXES and "." in name:
        return True
    return name in KEY_NAMES or (name[:1] in "iI." and _KEY_FILE.fullmatch(name) is not None)


def is_secret_file(name: str) -> bool:
    """Return whether a file of this name holds secret variables, or a key."""
    holds_variables = name in (ENV_FILE_PREFIX, ".envrc") or (
        name.startswith(f"{ENV_FILE_PREFIX}.") and name not in SECRET_TEMPLATES
    )
    return holds_variables or is_key_file(name)


def is_autoloaded_name(name: str) -> bool:
    """Return whether programs obey a file of this name in any directory."""
    return name in AUTOLOADED_NAMES or name == REPOSITORY or name.endswith(AUTOLOADED_SUFFIX)
