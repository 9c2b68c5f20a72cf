"""The patterns of commands that harm: what each one is, and the words without which it need not be tried."""

from skills_runtime.skills.security.lasting_rules import LASTING
from skills_runtime.skills.security.marks import Pattern, pattern

_RUNNER = (
    r"(?:sudo\s+(?:-\w+\s+)*)?(?:/usr)?(?:/bin/)?(?:env\s+)?(?:ba|z|da"
    r"|k|fi)?sh\b|(?:sudo\s+)?python[\d.]*\b|(?:sudo\s+)?(?:node|perl|ruby"
    r"|php)\b"
)
_DECODE = (
    r"base64\s+(?:-d|-D|--decode|-di|-id)\b|base64\s+-\w*d\w*\b|openssl\s+(?:enc"
    r"|base64)\s[^|\n]{0,60}-d\b|xxd\s+-r|base32\s+-d|uudecode|(?:^|\s"
    r"|\|)\s*rev\s*(?=\|)|gunzip\s+-c|tr\s+'?[A-Za-z]-?[A-Za-z-]{0,60}'?\s+'?[N-Zn-z]-"
)

PATTERNS: tuple[Pattern, ...] = (
    pattern(
        "X001",
        rf"(?:{_DECODE})[^\n]{{0,200}}\|\s*(?:{_RUNNER})",
        "base64",
        "base32",
        "openssl",
        "xxd",
        "uudecode",
        "rev",
        "gunzip",
        "tr ",
    ),
    pattern(
        "X001",
        (
            r"(?:eval|(?:ba|z)?sh\s+-c|source|python[\d.]*\s+-c|\bexec)\s*[\"']?\s*(?:\$\("
            rf"|<\(|`)[^\n]{{0,2000}}(?:{_DECODE})"
        ),
        "base64",
        "base32",
        "openssl",
        "xxd",
        "uudecode",
        "rev",
        "gunzip",
        "tr ",
    ),
    pattern("X001", rf"(?:ba|z|da)?sh\s+(?:-\w+\s+)?<<<\s*[\"']?\$\([^\n]{{0,1500}}(?:{_DECODE})", "<<<"),
    pattern("X001", rf"(?:{_DECODE})[^\n]{{0,60}}\|\s*xargs\s[^\n]{{0,40}}(?:curl|wget)", "xargs", severity="high"),
    pattern(
        "X001",
        (
            r"python[\d.]*\s+-c\s+[\"'][^\n]{0,400}(?:exec|eval)\s*\([^\n]{0,200}(?:b64decode"
            r"|fromhex|decompress|rot_?13|decode\()"
        ),
        "python",
    ),
    pattern("X001", r"node\s+-e\s+[\"'][^\n]{0,300}(?:eval|Function)\s*\([^\n]{0,120}(?:atob|Buffer\.from)", "node"),
    pattern("X001", r"perl\s+-e\s+[\"'][^\n]{0,300}eval[^\n]{0,60}(?:unpack|decode_base64|pack)", "perl"),
    pattern(
        "X001",
        (
            r"echo\s+[\"']?[A-Za-z0-9+/]{60,}={0,2}[\"']?\s*\|\s*base64\s+-\w*[dD]\w*[^"
            r"|\n]{0,20}>\s*\S+[^\n]{0,60}(?:&&|;)[^\n]{0,80}(?:ba)?sh\s"
        ),
        "base64",
    ),
    pattern(
        "X005",
        (
            r"(?:ba|z|da|k)?sh\s+-i\s*[^\n]{0,20}>&?\s*/dev/(?:tcp|udp)/|exec\s+\d+<>\s*/dev/(?:tcp"
            r"|udp)/|/dev/(?:tcp|udp)/[\w.$\{\}-]+/[\w$\{\}]+[^\n]{0,20}0[>&<]{1,2}&?1"
        ),
        "/dev/tcp",
        "/dev/udp",
    ),
    pattern(
        "X005",
        (
            r"\bn(?:c|cat|etcat)\b[^\n|]{0,80}\s-(?:\w*e|c)\s+(?:/bin/|/usr/bin/)?(?:ba"
            r"|z|da)?sh|ncat\b[^\n|]{0,80}--(?:sh-)?exec"
        ),
        "nc ",
        "ncat",
        "netcat",
    ),
    pattern("X005", r"mkfifo[^\n]{0,160}\|\s*(?:/bin/)?(?:ba)?sh[^\n]{0,60}\|\s*n(?:c|cat)\b", "mkfifo"),
    pattern(
        "X005",
        (
            r"socat\b[^\n]{0,120}exec:[^\n]{0,40}(?:sh|cmd)|socket[^\n]{0,200}(?:dup2"
            r"|fileno\(\))[^\n]{0,200}(?:/bin/(?:ba)?sh|pty\.spawn)"
        ),
        "socat",
        "socket",
    ),
    pattern(
        "X005",
        (
            r"(?:perl|ruby|php|lua)\s+-\w*[er]\w*\s+[^\n]{0,80}socket[^\n]{0,240}(?:/bin/(?:ba)?sh"
            r"|exec)"
        ),
        "socket",
    ),
    pattern(
        "X005",
        (
            r"New-Object\s+(?:System\.)?Net\.Sockets\.TCPClient[^\n]{0,600}(?:iex"
            r"|Invoke-Expression)"
        ),
        "tcpclient",
    ),
    pattern(
        "X006",
        (
            r"(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,120}\s-e(?:nc|ncodedcommand"
            r"|c)?\s+[A-Za-z0-9+/=]{16,}"
        ),
        "powershell",
        "pwsh",
    ),
    pattern(
        "X006",
        (
            r"(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,120}-w(?:indowstyle)?\s+h(?:idden)?\b[^\n]{0,200}(?:h"
            r"ttps?://|iex|download|start-process)"
        ),
        "powershell",
        "pwsh",
    ),
    pattern(
        "X006",
        (
            r"\bmshta(?:\.exe)?\s+[\"']?(?:https?:|javascript:|vbscript:)|certutil(?:\.exe)?\s[^\n]{0,60}("
            r"?:-urlcache|-decode)\b|bitsadmin\s[^\n]{0,60}/transfer|regsvr32\s[^\n]{0,60}/i:http"
            r"|rundll32[^\n]{0,40}javascript:"
        ),
        "mshta",
        "certutil",
        "bitsadmin",
        "regsvr32",
        "rundll32",
    ),
    pattern(
        "X009",
        r"\bxmrig\b|stratum\+(?:tcp|ssl)://|\bminerd\b\s|--donate-level\b|\bcpuminer\b",
        "xmrig",
        "stratum",
        "minerd",
        "donate-level",
        "cpuminer",
    ),
    pattern(
        "X010",
        (
            r"\brm\s+(?:-\w+\s+)*-\w*(?:rf|fr)\w*\s+(?:--no-preserve-root\s+)?(?:/\*?"
            r"|~/?\*?|\$HOME/?\*?|\"\$HOME\"/?\*?|/(?:home|etc|usr|var|Users)/?\*?)(?=\s"
            r"|$|;|&|\"|')"
        ),
        "rm ",
    ),
    pattern(
        "X010",
        (
            r"\bdd\s+if=/dev/(?:zero|u?random)\s+of=/dev/(?:sd|nvme|disk|hd)|\bmkfs\.\w+\s+/dev/"
            r"|^\s*:\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:"
        ),
        "dd if",
        "mkfs",
        ":()",
    ),
    pattern(
        "X011",
        (
            r"\bnpx\s+(?:-y|--yes)\s+(?!@?[\w./-]+@\d)@?[\w./-]+|\buvx\s+[\w.-]+"
            r"|pip3?\s+install\s+[^\n]{0,60}git\+https?://"
        ),
        "npx",
        "uvx",
        "git+http",
        severity="info",
    ),
    *LASTING,
)
