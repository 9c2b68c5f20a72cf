"""Find references to locations of secrets, and secrets contained in a text."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from skills_runtime.skills.scan.text import Mark, Text, mark

SecretLevel = Literal["strong", "fair"]

_STRONG = re.compile(
    r"""
    \.ssh[/\\](?:id_[a-z0-9]+|\*|identity|[\w-]*key)(?!\.pub) | \bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub)
    | \.ssh[/\\]?(?=["'\s)]|$) | \.aws[/\\](?:credentials|\*|config) | \.aws[/\\]?(?=["'\s)]|$) | \.gnupg\b
    | \.config[/\\]gcloud | application_default_credentials\.json | \.azure[/\\](?:accessTokens|msal)
    | \.kube[/\\]config | \.docker[/\\]config\.json | \.netrc\b | \.git-credentials\b | \.pypirc\b | \.npmrc\b
    | /etc/shadow\b | \blogins\.json\b | \bkey4\.db\b | \bcookies\.sqlite\b | \bLogin\ Data\b
    | \bCookies\b(?=["']) | \bWeb\ Data\b | Google[/\\]Chrome[/\\](?:User\ Data|Default)
    | \.config[/\\]google-chrome | BraveSoftware[/\\] | Mozilla[/\\]Firefox[/\\]Profiles | \.mozilla[/\\]firefox
    | Library[/\\]Keychains | login\.keychain
    | security\s+(?:find|dump)-(?:generic|internet)?-?(?:password|keychain) | dump-keychain | \bwallet\.dat\b
    | \.ethereum[/\\]keystore | (?<=[/\\~"\x27\s])\.(?:bitcoin|electrum)\b | [/\\]Exodus[/\\]
    | \bAtomic[/\\]Local\ Storage | \.config[/\\]solana[/\\]id\.json | nkbihfbeogaeaoehlefnkodbefgpgknn
    | \bmetamask\b.{0,40}(?:vault|leveldb) | \bseed[_ ]?phrase\.txt
    | \.(?:openclaw|clawdbot|moltbot)[/\\]
      (?:\.env|credentials|(?:openclaw|clawdbot)\.json|config|agents|identity|workspace)
    | \.claude[/\\](?:\.credentials|credentials) | \.claude\.json\b | \.codex[/\\]auth\.json
    | \.gemini[/\\]oauth | \.config[/\\]gh[/\\]hosts\.yml
    | (?<=[/\\~"\x27\s])\.(?:anthropic|openai)(?=[/\\"\x27\s]|$) | \.config[/\\]claude
    | Claude[/\\]claude_desktop_config | \.(?:bash|zsh)_history\b | \.password-store\b | \.1password\b
    | \bgh\s+auth\s+token\b | \bgcloud\s+auth\s+print-(?:access|identity)-token
    | aws\s+configure\s+(?:get|export-credentials) | 169\.254\.169\.254 | metadata\.google\.internal
    | \bmimikatz\b | \blsass\b | win32crypt | CryptUnprotectData | \bsecretsdump\b | Local\ Storage[/\\]leveldb
    | discord[/\\](?:Local\ Storage|leveldb) | Telegram\ Desktop[/\\]tdata | \.terraform\.d[/\\]credentials
    """,
    re.I | re.X,
)
_FAIR = re.compile(
    r"""
    (?<![\w.])\.env(?:\.(?:local|production|prod|development))?(?![\w.(-]) | \bcredentials\.json\b
    | \bsecrets?\.(?:json|ya?ml|toml)\b | \btoken\.(?:json|txt)\b | \bservice-account[\w-]*\.json\b
    | \bpbpaste\b | \bxclip\b | Get-Clipboard | \.git[/\\]config\b
    """,
    re.I | re.X,
)

# Prefilter: every match of the patterns above contains one of these.
_ANCHORS = (
    ".ssh", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".aws", "aws ", ".gnupg", "gcloud", "credential",
    ".azure", ".kube", ".docker", ".netrc", ".git", ".pypirc", ".npmrc", "shadow", "logins.json", "key4.db",
    "cookies", "login data", "web data", "chrome", "brave", "firefox", "keychain", "security ", "wallet",
    ".ethereum", ".bitcoin", ".electrum", "exodus", "atomic", "solana", "nkbih", "metamask", "seed", "openclaw",
    "clawdbot", "moltbot", "claude", ".codex", ".gemini", "gh ", "hosts.yml", ".anthropic", ".openai", "_history",
    "password", "169.254", "metadata.google", "mimikatz", "lsass", "win32crypt", "cryptunprotect", "secretsdump",
    "leveldb", "tdata", ".terraform", ".env", "secret", "token.", "service-account", "pbpaste", "xclip",
    "clipboard",
)  # fmt: skip


def find_secret(text: str) -> tuple[SecretLevel, re.Match[str]] | None:
    """Return the first reference to a location of secrets, preferring the level `strong`."""
    folded = text.lower()
    if not any(word in folded for word in _ANCHORS):
        return None
    strong = _STRONG.search(text)
    if strong:
        return "strong", strong
    fair = _FAIR.search(text)
    return ("fair", fair) if fair else None


_KEYS = re.compile(
    r"\b(?:AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}"
    r"|gho_[A-Za-z0-9]{36}|sk-ant-api\d\d-[\w-]{60,}|sk-proj-[\w-]{40,}"
    r"|sk_live_[A-Za-z0-9]{20,}|xox[bp]-\d{9,}-\d{9,}-[A-Za-z0-9]{20,}"
    r"|AIza[\w-]{35}|glpat-[\w-]{20}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z]{34}"
    r"|SG\.[\w-]{22}\.[\w-]{43}|\d{8,10}:AA[\w-]{33})"
)
_SAMPLE = re.compile(
    (
        r"EXAMPLE|XXXX|xxxx|1234|abcd|your|placeholder|dummy|fake|test|sample"
        r"|0000|redact|\.\.\.|\*\*\*"
    ),
    re.I,
)
_PRIVATE = re.compile(r"-----BEGIN (?:RSA |EC |OPENSSH |DSA )?PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]{200,})")


def find_leaked_secrets(text: Text) -> Iterator[Mark]:
    """Find secrets that look real."""
    for match in _KEYS.finditer(text.body):
        if not _SAMPLE.search(match[0]) and _entropy(match[0]) > 3.3:
            yield mark("D008", match.start(), match.end(), shown=f"{match[0][:8]}… ({len(match[0])} characters)")
    for match in _PRIVATE.finditer(text.body):
        if _entropy(match[1][:200]) > 4.5:
            yield mark("D008", match.start(), match.start() + 30, shown="a private key")


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
