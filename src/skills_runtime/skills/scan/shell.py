"""Finds in commands what runs things from elsewhere, sends things away, stays behind or switches protections off."""

import re
from collections.abc import Iterator, Sequence

from skills_runtime.skills.scan.report import Severity
from skills_runtime.skills.scan.rules import Mark, Pattern, Profile, mark, pattern
from skills_runtime.skills.scan.shell_network import (
    FETCHERS,
    PACKAGERS,
    SENDERS,
    Command,
    commands,
    download_marks,
    package_marks,
    sending_marks,
)

LASTING: tuple[Pattern, ...] = (
    pattern(
        "P006", r"rm\s+-\w*f\w*\s+[^\n;]{0,80}/var/log/(?:audit|auth|secure|wtmp|syslog)", "/var/log/", severity="high"
    ),
    pattern(
        "P002",
        (
            r">>?\s*[^\s|;&]{0,60}\.ssh/authorized_keys|ssh-copy-id\s[^\n]{0,40}(?:-i\s)?[^\n]{0,60}attack"
            r"er|tee\s+(?:-a\s+)?[^\s|;&]{0,60}authorized_keys"
        ),
        "authorized_keys",
        "ssh-copy-id",
    ),
    pattern(
        "P001",
        (
            r"\|\s*crontab\s+-(?=\s|$|\)|\"|')|(?:>>?|tee(?:\s+-a)?)\s*/etc/cron[\w./-]*"
            r"|(?:>>?|tee(?:\s+-a)?)\s*/var/spool/cron"
        ),
        "cron",
        severity="medium",
    ),
    pattern(
        "P001",
        (
            r"(?:>>?|tee(?:\s+-a)?|cp\s+\S+|mv\s+\S+)\s*[\"']?[^\s|;&]{0,60}Library/Launch(?:Agents"
            r"|Daemons)/|launchctl\s+(?:load|bootstrap)\s[^\n]{0,80}Launch(?:Agents"
            r"|Daemons)"
        ),
        "launch",
        severity="medium",
    ),
    pattern(
        "P001",
        (
            r"(?:echo|printf|cat)\s[^\n]{0,300}(?:curl|wget|nohup|base64|/tmp/"
            r"|python|\bnc\b|&\s*['\"]?\s*>>)[^\n]{0,200}>>\s*[\"']?[^\s|;&]{0,40}\.(?:bashrc"
            r"|zshrc|profile|bash_profile|zprofile|zshenv)"
        ),
        "bashrc",
        "zshrc",
        "profile",
        "zshenv",
    ),
    pattern(
        "P001",
        (
            r"schtasks(?:\.exe)?\s+/create|reg(?:\.exe)?\s+add\s+[\"']?HK(?:CU"
            r"|LM)[^\n]{0,80}\\Run\b|New-ScheduledTask|\\Start Menu\\Programs\\Startup"
        ),
        "schtasks",
        "reg",
        "scheduledtask",
        "startup",
        severity="medium",
    ),
    pattern(
        "P001",
        (
            r"(?:>>?|tee(?:\s+-a)?|cp\s+\S+|install\s[^\n]{0,40})\s*[\"']?/etc/(?:systemd/system"
            r"|init\.d|rc\.local|profile\.d)/?"
        ),
        "/etc/",
        severity="low",
    ),
    pattern(
        "P003",
        (
            r"(?:>>|tee\s+-a)\s*[\"']?[^\s|;&]{0,60}(?:CLAUDE|AGENTS|SOUL|MEMORY"
            r"|GEMINI|HEARTBEAT)\.md|(?:>>?|tee(?:\s+-a)?)\s*[\"']?[^\s|;&]{0,40}(?:\.claude/settings(?:\."
            r"local)?\.json|\.cursor/rules|\.cursorrules)"
        ),
        ".md",
        "settings",
        ".cursor",
        severity="low",
    ),
    pattern(
        "P004",
        (
            r"spctl\s+--(?:master|global)-disable|csrutil\s+disable|setenforce\s+0\b"
            r"|Set-MpPreference\s[^\n]{0,60}-Disable\w+\s+\$?true|Add-MpPreference\s[^\n]{0,40}-Exclusion"
            r"|(?:sc|net)\s+stop\s+(?:windefend|mpssvc)|netsh\s+advfirewall\s+set\s+\w+\s+state\s+off"
        ),
        "spctl",
        "csrutil",
        "setenforce",
        "mppreference",
        " stop ",
        "netsh",
    ),
    pattern(
        "P004", r"xattr\s+-\w*(?:c|d)\w*\s+(?:-\w+\s+)*(?:com\.apple\.quarantine\s+)?\S", "xattr", severity="medium"
    ),
    pattern(
        "P004",
        (
            r"\bufw\s+disable\b|iptables\s+-F\b|systemctl\s+(?:stop|disable)\s+(?:firewalld"
            r"|apparmor|auditd|falcon-sensor|clamav)"
        ),
        "ufw",
        "iptables",
        "systemctl",
        severity="medium",
    ),
    pattern(
        "P005",
        (r"NOPASSWD:\s*ALL\b[^\n]{0,160}/etc/sudoers|/etc/sudoers[^\n]{0,160}NOPASSWD:\s*ALL\b"),
        "nopasswd",
        severity="high",
    ),
    pattern(
        "P005",
        (
            r"NOPASSWD:\s*ALL|chmod\s+(?:-R\s+)?[ug]*\+s\s|chmod\s+(?:-R\s+)?[42]7[0-7]{2}\s"
            r"|chmod\s+-R\s+777\s+/(?:\s|$)"
        ),
        "nopasswd",
        "chmod",
    ),
    pattern(
        "P005",
        r"chmod\s+(?:-R\s+)?0?777\s+/(?!tmp)\S+[^\n]{0,40}(?:&&|;)[^\n]{0,30}chown\s+root",
        "chmod",
        severity="medium",
    ),
    pattern(
        "P006",
        (
            r"history\s+-c\b|unset\s+HISTFILE|HISTFILE=/dev/null|HISTSIZE=0\b|shred\s[^\n]{0,60}(?:_histor"
            r"y|\.log)|rm\s+-\w*f\w*\s+[^\n;]{0,80}(?:/var/log/|\.bash_history"
            r"|\.zsh_history)|wevtutil\s+cl\b|Clear-EventLog"
        ),
        "hist",
        "shred",
        "/var/log",
        "wevtutil",
        "eventlog",
    ),
)


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


def shell_marks(body: str, start: int, end: int, profile: Profile) -> Iterator[Mark]:
    """Everything in a stretch of commands."""
    block = list(commands(body, start, end))
    folded = "\n".join(command.straight for command in block).lower()
    patterns = [one for one in PATTERNS if any(anchor in folded for anchor in one.anchors)]
    sends = any(anchor in folded for anchor in SENDERS)
    for command in block if patterns or sends else ():
        if len(command.straight) < 4:
            continue
        yield from _in_command(command, patterns)
        if sends:
            yield from sending_marks(command, profile)
    for command in block if any(anchor in folded for anchor in PACKAGERS) else ():
        yield from package_marks(command)
    if any(anchor in folded for anchor in FETCHERS):
        yield from download_marks(block, body[start:end], profile)


def _in_command(command: Command, patterns: Sequence[Pattern]) -> Iterator[Mark]:
    line = command.straight
    folded = line.lower()
    for one in patterns:
        if not any(anchor in folded for anchor in one.anchors):
            continue
        match = one.expression.search(line)
        if match:
            severity = _opened(line) if one.code == "P002" else one.severity
            yield mark(one.code, command.start, command.end, severity, shown=match[0])


def _opened(line: str) -> Severity:
    """A key that is there, or comes from an address, opens the machine; a placeholder shows how it is done."""
    return "critical" if re.search(r"AAAA[A-Za-z0-9+/]{20,}|https?://|\$\(|base64", line) else "low"
