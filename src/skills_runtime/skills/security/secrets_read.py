"""Places that hold secrets, and how surely somebody who reads them is after the secrets."""

import re
from typing import Literal

Level = Literal["strong", "fair"]

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

_WORDS = (
    ".ssh", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".aws", "aws ", ".gnupg", "gcloud", "credential",
    ".azure", ".kube", ".docker", ".netrc", ".git", ".pypirc", ".npmrc", "shadow", "logins.json", "key4.db",
    "cookies", "login data", "web data", "chrome", "brave", "firefox", "keychain", "security ", "wallet",
    ".ethereum", ".bitcoin", ".electrum", "exodus", "atomic", "solana", "nkbih", "metamask", "seed", "openclaw",
    "clawdbot", "moltbot", "claude", ".codex", ".gemini", "gh ", "hosts.yml", ".anthropic", ".openai", "_history",
    "password", "169.254", "metadata.google", "mimikatz", "lsass", "win32crypt", "cryptunprotect", "secretsdump",
    "leveldb", "tdata", ".terraform", ".env", "secret", "token.", "service-account", "pbpaste", "xclip",
    "clipboard",
)  # fmt: skip
"""Words without one of which no place of the above is in a text."""


def secrets_in(text: str) -> tuple[Level, re.Match[str]] | None:
    """The first place in a text that holds secrets, the surest kind first."""
    folded = text.lower()
    if not any(word in folded for word in _WORDS):
        return None
    strong = _STRONG.search(text)
    if strong:
        return "strong", strong
    fair = _FAIR.search(text)
    return ("fair", fair) if fair else None
