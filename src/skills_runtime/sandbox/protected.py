"""Names that programs outside the fence obey, so that writing them would be a way out, and names that hold secrets."""

RUNTIME_DIRECTORY = ".skills_runtime_sdk"
"""Logs, keys, sockets and approvals of the runtime: neither read nor written."""

REPOSITORY = ".git"

CONFIGURATION = (
    ".agent", ".agents", ".claude", ".codex", ".cursor", ".gemini", ".vscode", ".idea", ".mcp.json",
)  # fmt: skip
"""What agents and editors obey when they open the directory."""

START_UP = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
    ".inputrc", ".gitconfig", ".gitmodules", ".ripgreprc",
)  # fmt: skip
"""What shells and everyday programs run or obey when they start."""

READ_ONLY = frozenset((REPOSITORY, *CONFIGURATION, *START_UP))

KEPT_FREE = (REPOSITORY, *CONFIGURATION)
"""What cannot be made either where it does not exist yet."""

KEPT_FREE_AT_HOME = (*KEPT_FREE, *START_UP)
"""The same in a home directory, the only place in which anything is a start-up file."""

SECRETS = ".env"
"""How the names of files begin that hold secrets, wherever in a workspace they lie."""

CREDENTIALS = frozenset(
    (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".pypirc", ".git-credentials")
)
"""What a home directory holds; hidden at the top of a workspace only, where such a name is no coincidence."""

HOME_SECRETS = (
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
"""What a home directory holds besides, and what would be a mere setting anywhere else."""

GIT_CONTROL = ("HEAD", "config", "config.worktree", "hooks", "commondir")
"""What git obeys in a repository without a work tree."""

SKIPPED = frozenset({"node_modules", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache", ".cache"})
"""Directories of others' code: in them only repositories and secrets are looked for."""
