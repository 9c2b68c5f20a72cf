"""Sensitive paths: their owners, and the risk of reading or writing them."""

import posixpath
import re
from fnmatch import fnmatchcase

from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.words import PLACEHOLDER, names

Assessment = tuple[Level, str]

CONTROL = "touches the runtime's own state"
SECRET = "reads keys or secrets"
HARMLESS_SINKS = frozenset(
    {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full"}
)

_SYSTEM = re.compile(
    r"/(?:etc|bin|sbin|usr|lib\w*|boot|dev|sys|proc|run|opt|root|srv|var(?!/tmp)|private/etc|System|Library|Applications)(?:/|$)|/$"
)
_CONTROL = re.compile(
    r"(?:^|/)\.skills_runtime_sdk(?:/|$)|(?:^|/)\.(?:local/\w+|config|cache)/skills_runtime(?:/|$)|skills_runtime/keys"
)
_SECRET = re.compile(
    r"(?:^|/)\.(?:ssh|aws|gnupg|azure|password-store|kube|docker/config\.json|config/(?:gcloud|gh|op)|netrc|pgpass|my\.cnf"
    r"|git-credentials|pypirc|npmrc|vault-token|terraform\.d|boto|s3cfg)(?:/|$)"
    r"|(?:^|/)\.env(?:rc)?(?:\.(?!example$|sample$|template$|dist$)[\w.-]+)?$"
    r"|(?:^|/)id_(?:rsa|dsa|ecdsa|ed25519)[^/]*$|(?:^|/)(?:authorized_keys|known_hosts)$"
    r"|^/etc/(?:g?shadow|sudoers|ssl/private|master\.passwd|security/)|^/proc/(?:[^/]+/)+(?:environ|mem|maps|fd|root)\b|^/dev/(?:k?mem|port|[shv]d[a-z]|xvd|nvme|mmcblk|disk|mapper|dm-)|^/proc/kcore|^/etc/ssh/ssh_host"
    r"|^(?:/var)?/run/secrets|Keychains?(?:/|$)|(?:^|/)(?:Login Data|Cookies|key[34]\.db|logins\.json|keychain-2\.db)$"
    r"|(?:^|/)(?:credentials|secrets?)\.(?:json|ya?ml|toml|env)$|\.(?:pem|key|keystore|jks|kdbx|ovpn|ppk|p12|pfx)$"
    r"|(?:^|/)\.(?:bash|zsh|python|psql|mysql|node_repl|sqlite|irb|rediscli)_history$",
    re.IGNORECASE,
)
_RUNS_LATER = re.compile(
    r"(?:^|/)\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|cshrc"
    r"|tcshrc|login|logout|inputrc|envrc|xinitrc|xprofile|xsession|gitconfig|gitmodules|vimrc|exrc|gvimrc|emacs|npmrc|yarnrc|pypirc"
    r"|curlrc|wgetrc|screenrc|tmux\.conf|gdbinit|lldbinit|psqlrc|sqliterc|irbrc|pryrc|Rprofile|pythonrc|mcp\.json|tool-versions)$"
    r"|(?:^|/)\.(?:ssh|gnupg|vscode|idea|claude|codex|cursor|gemini|agents?|husky|devcontainer|emacs\.d|vim|config/(?:fish|autostart"
    r"|systemd|git|nvim|environment\.d)|local/bin|cargo/(?:bin|config)|docker|kube|aws)(?:/|$)"
    r"|(?:^|/)\.git(?:/(?:hooks|config|info|modules|worktrees|objects|refs|HEAD)(?:/|$)|$)|(?:^|/)(?:hooks/)?(?:pre|post)-(?:commit|push|merge|checkout|receive)$"
    r"|(?:^|/)authorized_keys$|Launch(?:Agents|Daemons)(?:/|$)|(?:^|/)(?:sitecustomize|usercustomize)\.py$|\.pth$"
    r"|(?:^|/)cron(?:tabs?|\.\w+)?/",
    re.IGNORECASE,
)
_PIPELINES = re.compile(
    r"(?:^|/)\.github/(?:workflows|actions)/|(?:^|/)\.(?:gitlab-ci|travis|drone|woodpecker|appveyor)\.ya?ml$|(?:^|/)\.circleci/"
    r"|(?:^|/)(?:Jenkinsfile|azure-pipelines\.ya?ml|bitbucket-pipelines\.yml|\.pre-commit-config\.yaml|\.buildkite/)",
    re.IGNORECASE,
)
_BUILDS = re.compile(
    r"(?:^|/)(?:(?:GNU)?Makefile|makefile|\w+\.mk|package\.json|pyproject\.toml|setup\.(?:py|cfg)|conftest\.py|tox\.ini|noxfile\.py"
    r"|(?:docker-)?compose\.ya?ml|Dockerfile|Containerfile|Rakefile|Gemfile|Justfile|justfile|build\.(?:gradle|rs)|CMakeLists\.txt)$"
)
_HINT = re.compile(
    r"\.ssh|\.aws|\.gnupg|\.azure|\.password|\.kube|\.docker|\.config|\.local|\.cache|\.netrc|\.pgpass|\.my|\.git-c|\.pypi|\.npmrc|\.vault"
    r"|\.terra|\.boto|\.s3cfg|\.env|id_|_keys|known_hosts|/etc|/proc|/dev/|/run|keychain|login|cookies|key[34]|logins|cred|secret"
    r"|\.pem|\.key|\.jks|\.kdbx|\.ovpn|\.ppk|\.p12|\.pfx|_history|skills_runtime|shadow|sudoers|environ|\.\./",
    re.IGNORECASE,
)
_MAX_PATTERN = 512
_EXAMPLES = tuple(
    path.split("/")
    for path in (
        *sorted(
            names(
                """
                /etc/shadow /etc/gshadow /etc/sudoers /proc/1/environ /proc/self/environ /run/secrets/key
                ~/.ssh/id_rsa ~/.ssh/id_ed25519 ~/.aws/credentials ~/.netrc ~/.git-credentials ~/.kube/config
                ~/.gnupg/secring.gpg ~/.npmrc ~/.pypirc ~/.bash_history
                /home/user/.ssh/id_rsa /home/user/.aws/credentials
                .env .env.local .skills_runtime_sdk/runs .skills_runtime_sdk/runs/run
                """
            )
        ),
        "/".join(("", "root", ".ssh", "id_rsa")),
    )
)
"""Texts that a pattern must not match."""


_ALIAS = re.compile(r"^/+proc/+[^/]+(?:/+task/+[^/]+)?/+cwd(?=/|$)")
"""The kernel's alias of a process's working directory."""


def normalize(shape: str) -> str:
    """Normalize a path; a leading `../..` before a system directory is assumed to reach the root."""
    if "/" not in shape:
        return shape
    path = posixpath.normpath(_ALIAS.sub(".", shape) if "/proc" in shape else shape)
    if path.startswith("//"):
        path = path[1:]
    climbed = re.match(r"(?:\.\./)+(?=(?:etc|proc|root|run|home|dev|usr|bin|var)\b)", path)
    return "/" + path[climbed.end() :] if climbed else path


def may_be_sensitive(text: str) -> bool:
    """Return whether a text may name a sensitive path: a fast check without false negatives."""
    return bool(_HINT.search(text))


def assess_read(shape: str) -> Assessment | None:
    """Assess reading a path; None if it is harmless."""
    path = normalize(shape)
    if _CONTROL.search(path):
        return "high", CONTROL
    return ("high", SECRET) if _SECRET.search(path) else None


def assess_pattern_read(pattern: str) -> Assessment | None:
    """Assess reading every path that matches a pattern."""
    if pattern == PLACEHOLDER:
        return None
    if len(pattern) > _MAX_PATTERN:
        return "high", "names files by a pattern that is too long"
    parts = [part.replace(PLACEHOLDER, "*") for part in normalize(pattern).split("/")]
    for example in _EXAMPLES:
        if len(example) == len(parts) and all(
            fnmatchcase(name, part) and not (name.startswith(".") and part[:1] in "*?[")
            for name, part in zip(example, parts, strict=True)
        ):
            return "high", CONTROL if "skills_runtime" in "/".join(example) else SECRET
    return None


def assess_write(shape: str) -> Assessment:
    """Assess writing a path."""
    path = normalize(shape)
    if _CONTROL.search(path):
        return "high", CONTROL
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return "high", "sends over the network"
    if path.startswith("/dev/shm/"):
        return "medium", "writes outside of the working directory"
    if _SYSTEM.match(path):
        return "high", "writes to a system path"
    if _RUNS_LATER.search(path):
        return "high", "writes a file that is run later"
    if _PIPELINES.search(path):
        return "high", "writes a file that build servers run"
    if _SECRET.search(path):
        return "high", "writes a file of keys or secrets"
    if _BUILDS.search(path):
        return "medium", "writes a file that builds run"
    if path.startswith(("/", "~", "..")):
        return "medium", "writes outside of the working directory"
    return "medium", "writes a file"


def is_broad_target(shape: str) -> bool:
    """Return whether a recursive change could affect more than a part of the working directory."""
    path = normalize(shape).rstrip("/") or "/"
    if (
        shape.startswith(("/", "~", PLACEHOLDER))
        or path in ("", ".", "..", "*", ".*", ".git", "./*")
        or path.startswith("..")
    ):
        return True
    return bool(re.match(r"[*?.\[\]{}]+(?:/|$)", path)) or path.startswith(".git/") or PLACEHOLDER in path.split("/")


def is_plain_relative_path(text: str) -> bool:
    """Return whether a text can only be the name of something ordinary below the working directory."""
    return bool(re.fullmatch(r"[\w*?][\w.*?/+%-]*", text)) and ".." not in text and not assess_read(text)
