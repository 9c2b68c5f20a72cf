"""Options that make harmless programs dangerous, and hosts in operands and options without a scheme."""

import re
from collections.abc import Iterator

import msgspec

from skills_runtime.safety.guard.calls import Call
from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.known_programs import MEDIUM
from skills_runtime.safety.guard.paths import assess_write
from skills_runtime.safety.guard.words import Word, names

_RUNS = "has another program run by an option"
_CODE = "loads code named by an option"
_SENDS = "sends a file over the network"
_CONFIG = "takes its options from a file"

_WIPES = "wipes the history"
_CLOCK = "sets the clock"
_FILE = "writes a file"
_NAMES = "changes which program a name stands for"

_RISKY_OPTIONS: tuple[tuple[str, str, Level, str], ...] = (
    ("rg", "--pre --hostname-bin", "high", _RUNS),
    ("ag", "--pager", "high", _RUNS),
    ("ack", "--pager", "high", _RUNS),
    ("ack", "--ackrc", "high", _CONFIG),
    ("ack", "--output", "high", _CODE),
    ("bat", "--pager --lessopen", "high", _RUNS),
    ("bat", "--generate-config-file --build --clear", "medium", "changes files"),
    ("cloc", "--extract-with", "high", _RUNS),
    ("cloc", "--config --strip-comments --strip-str-comments --unicode", "medium", _CONFIG),
    ("diff3", "--diff-program", "high", _RUNS),
    ("getconf", "-v", "high", _RUNS),
    ("nm", "--plugin", "high", _CODE),
    ("objdump", "--plugin", "high", _CODE),
    ("size", "--plugin", "high", _CODE),
    ("sort", "--compress-program", "high", _RUNS),
    ("tree", "-R", "medium", _FILE),
    ("ptx", "-G --traditional", "medium", _FILE),
    ("file", "-C --compile", "medium", _FILE),
    ("split", "--filter", "high", _RUNS),
    ("tar", "--checkpoint-action --to-command --use-compress-program --info-script --new-volume-script", "high", _RUNS),
    ("tar", "--rsh-command --rmt-command -I -F", "high", _RUNS),
    ("zip", "-TT --unzip-command", "high", _RUNS),
    ("rsync", "--rsh -e --rsync-path", "high", _RUNS),
    ("rsync", "--delete", "high", "deletes what the source does not have"),
    ("scp", "-S -o", "high", _RUNS),
    ("scp", "-F", "high", _CONFIG),
    ("scp", "-J", "medium", _RUNS),
    ("sftp", "-S -o -D", "high", _RUNS),
    ("sftp", "-b", "medium", _CONFIG),
    ("ssh", "-o", "high", _RUNS),
    ("ssh", "-F", "high", _CONFIG),
    ("ssh", "-R", "high", "opens a way into this machine"),
    ("ssh", "-D", "high", "opens a way into another network"),
    ("ssh", "-I", "high", _CODE),
    ("man", "-P --pager -H --html", "high", _RUNS),
    ("man", "-C", "high", _CONFIG),
    ("pytest", "-p", "medium", _CODE),
    ("pytest", "-c --config-file --rootdir --confcutdir -o --override-ini --cov-config", "medium", _CONFIG),
    ("pytest", "--pastebin", "high", _SENDS),
    ("pytest", "--pdbcls", "high", _CODE),
    ("pytest", "--debug-wrapper", "high", _RUNS),
    ("pytest", "--cov-report --debug", "medium", _FILE),
    ("pytest", "--snapshot-update --inline-snapshot --store-durations --cache-clear", "medium", "changes files"),
    ("pylint", "--init-hook --load-plugins", "high", _CODE),
    ("pylint", "--rcfile", "medium", _CONFIG),
    ("flake8", "--config --append-config", "medium", _CONFIG),
    ("mypy", "--python-executable", "high", _RUNS),
    ("mypy", "--config-file --shadow-file --custom-typeshed-dir", "medium", _CONFIG),
    ("mypy", "--install-types", "medium", "installs software, which may run code"),
    ("pyright", "-p --project --pythonpath --venvpath --venv-path --typeshedpath --typeshed-path", "medium", _CONFIG),
    ("pyright", "--createstub --writebaseline", "medium", "changes files"),
    ("cargo", "--config -Z", "medium", _CODE),
    ("cargo", "--manifest-path", "medium", _CONFIG),
    ("go", "-vettool -toolexec -exec -overlay -modfile", "medium", _CODE),
    ("eslint", "--rulesdir --plugin --parser --resolve-plugins-relative-to -f --format", "medium", _CODE),
    ("eslint", "-c --config", "medium", _CONFIG),
    ("prettier", "--plugin --plugin-search-dir", "medium", _CODE),
    ("prettier", "--config", "medium", _CONFIG),
    (
        "npm",
        "--script-shell --node-options --globalconfig --userconfig --shell --editor --git --prefix",
        "medium",
        _CODE,
    ),
    ("ruff", "--config", "medium", _CONFIG),
    ("tsc", "-p --project -b --build --plugins", "medium", _CONFIG),
    ("make", "-f --file --makefile -I --include-dir", "medium", _CONFIG),
    ("jest", "-c --config --setupFilesAfterEach --globalSetup --testRunner --transform", "medium", _CODE),
    ("vitest", "-c --config --reporter", "medium", _CODE),
    ("coverage", "--rcfile", "medium", _CONFIG),
    ("black", "--config", "medium", _CONFIG),
    ("curl", "-T --upload-file", "high", _SENDS),
    ("curl", "-K --config", "high", _CONFIG),
    ("curl", "--engine", "high", _CODE),
    ("wget", "--post-file --body-file", "high", _SENDS),
    ("wget", "--use-askpass", "high", _RUNS),
    ("wget", "-e --execute", "high", _CONFIG),
    ("wget", "-i", "medium", _CONFIG),
    ("openssl", "-engine -provider-path", "high", _CODE),
    ("gpg", "--export-secret-keys", "high", "reads keys or secrets"),
    ("gpg", "--exec-path --photo-viewer", "high", _RUNS),
    ("make", "--eval", "high", _CODE),
    ("make", "SHELL=", "high", _RUNS),
    ("psql", "-c", "medium", "changes a database"),
    ("psql", "-f", "medium", _CONFIG),
    ("jq", "-L --library-path", "medium", _CODE),
    ("date", "-s --set", "high", _CLOCK),
    ("hash", "-p", "high", _NAMES),
    ("enable", "-f", "high", _CODE),
    ("enable", "-n", "medium", _NAMES),
    ("nmap", "--script", "high", _CODE),
    ("nmap", "-iL", "medium", _CONFIG),
    ("history", "-c -d -w -a", "high", _WIPES),
    ("history", "-r", "medium", _CONFIG),
    ("mapfile", "-C", "high", _RUNS),
    ("readarray", "-C", "high", _RUNS),
    ("complete", "-C", "high", _RUNS),
    ("complete", "-F", "medium", _RUNS),
    ("compgen", "-C -F -W", "high", _RUNS),
    ("less", "-k --lesskey", "high", _CONFIG),
    ("less", "-o -O", "medium", _FILE),
    ("yq", "-i --inplace -s --split-exp --split-exp-file", "medium", "changes files"),
    ("lsof", "-D", "medium", _FILE),
)
"""Program, options, and their meaning."""

_WRITES: dict[str, str] = {
    "sort": "-o --output -T --temporary-directory",
    "tree": "-o",
    "iconv": "-o --output",
    "curl": "-o --output --output-dir -D --dump-header -c --cookie-jar --trace --stderr",
    "wget": "-O --output-document -P --directory-prefix -o --output-file -a --append-output",
    "pytest": "--junitxml --junit-xml --log-file --basetemp --resultlog --report-log --html --csv",
    "mypy": "--cache-dir --junit-xml --any-exprs-report --cobertura-xml-report --html-report --linecount-report "
    "--linecoverage-report --lineprecision-report --txt-report --xml-report --xslt-html-report --xslt-txt-report",
    "pylint": "--output",
    "flake8": "--output-file",
    "cloc": "--out --report-file --write-lang-def --found --ignored --counted --sql",
    "eslint": "-o --output-file --cache-location --cache-file",
    "ruff": "-o --output-file --cache-dir",
    "cargo": "--target-dir --out-dir --artifact-dir",
    "go": "-o -coverprofile -cpuprofile -memprofile -trace -outputdir",
    "tsc": "--outFile --outDir --declarationDir --tsBuildInfoFile --generateTrace --generateCpuProfile",
    "coverage": "-o --data-file",
    "tar": "-C --directory -f --file",
    "unzip": "-d",
    "gcc": "-o",
    "cc": "-o",
    "clang": "-o",
    "time": "-o --output",
    "strace": "-o --output",
    "ltrace": "-o --output",
    "openssl": "-out -writerand",
    "mktemp": "-p --tmpdir",
    "gpg": "-o --output",
    "mv": "-t --target-directory",
    "cp": "-t --target-directory",
    "ln": "-t --target-directory",
    "install": "-t --target-directory",
    "shuf": "-o --output",
}
"""Options whose value is an output file."""


_OPTION_ALIASES = {
    "py.test": "pytest",
    "basedpyright": "pyright",
    "ripgrep": "rg",
    "gmake": "make",
    "g++": "gcc",
    "clang++": "gcc",
}
"""Programs with the same options."""
_HARMLESS = {"pytest": names("--pdb --cov"), "py.test": names("--pdb --cov")}
"""Options that are prefixes of others in full."""
_SINGLE_DASH = names("go openssl")
"""Programs with single-dash long options."""

OPTIONS: dict[str, list[tuple[str, Level | None, str]]] = {}
"""The meaning of each option of a program; without a level it names an output file."""
for _program, _options, _level, _reason in (
    *_RISKY_OPTIONS,
    *((program, options, None, "") for program, options in _WRITES.items()),
):
    OPTIONS.setdefault(_program, []).extend((option, _level, _reason) for option in _options.split())
OPTIONS.update({_program: OPTIONS[_other] for _program, _other in _OPTION_ALIASES.items()})


def assess_options(call: Call) -> None:
    """Assess options that run, load, send or write something.

    An output option is recorded as a write, like a redirection. A program whose purpose is to change files is
    allowed by name; then only the path matters.
    """
    changes = MEDIUM.get(call.name) == "changes files" and call.name not in ("ruff", "black")
    for option, level, reason in OPTIONS.get(call.name, ()):
        for value in option_values(call, option):
            if level is not None:
                call.add_risk(level, reason, value)
            elif not changes:
                call.add_write(value)
            elif value.shape not in ("-", "/dev/null", "/dev/stdout"):
                call.add_risk(*assess_write(value.shape), value)


def option_values(call: Call, option: str) -> list[Word]:
    """Return the values of an option, in any spelling; the option itself when it has no value."""
    if option.startswith("--"):
        harmless = _HARMLESS.get(call.name, frozenset[str]())
        return [value for spelling, value in call.long_options(option[2:]) if spelling not in harmless]
    values: list[Word] = []
    is_long = len(option) > 2 or not option.startswith("-") or call.name in _SINGLE_DASH
    for index, word in enumerate(call.args):
        shape = word.shape
        if is_long:
            if shape == option and not option.endswith("="):
                values.append(call.args[index + 1] if index + 1 < len(call.args) else word)
            elif shape.startswith(f"{option}="):
                values.append(word.suffix(len(option) + 1))
            elif shape.startswith(option) and call.name not in _SINGLE_DASH:
                values.append(word.suffix(len(option)))
            continue
        if not word.option or shape.startswith("--") or option[1] not in shape:
            continue
        position = shape.index(option[1])
        if position > 1 and not shape[1:position].isalpha():
            continue
        if position + 1 < len(shape):
            values.append(word.suffix(position + 1))
        else:
            values.append(call.args[index + 1] if index + 1 < len(call.args) else word)
    return values


class Grammar(msgspec.Struct, frozen=True):
    """Options of a program that take a value, and those whose value is a host."""

    values: str = ""
    """Short options with a value that is no host."""
    hosts: str = ""
    """Short options with a host."""
    long_values: frozenset[str] = frozenset()
    long_hosts: frozenset[str] = frozenset()


_FETCHERS: dict[str, Grammar] = {
    "curl": Grammar(
        "AbcCdDeEFHKmoPQrtTuUwXyYz",
        "x",
        names(
            """
            abstract-unix-socket aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout continue-at
            cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary data-raw data-urlencode
            dump-header egd-file engine etag-compare etag-save expect100-timeout form form-string header hsts
            interface json keepalive-time key key-type limit-rate local-port login-options mail-from max-filesize
            max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max pass pinnedpubkey
            proto proto-default proto-redir proxy-header proxy-user pubkey quote random-file range rate referer
            request request-target retry retry-delay retry-max-time speed-limit speed-time stderr tls-max
            tls13-ciphers trace trace-ascii unix-socket upload-file url-query user user-agent write-out
            """
        ),
        names(
            """
            connect-to dns-ipv4-addr dns-servers doh-url ftp-port mail-rcpt preproxy proxy proxy1.0 resolve socks4
            socks4a socks5 socks5-hostname url
            """
        ),
    ),
    "wget": Grammar(
        "aAdDeiIloOPQRtTUwX",
        "B",
        names(
            """
            accept append-output body-data body-file ca-certificate ca-directory certificate connect-timeout cut-dirs
            default-page directory-prefix dns-timeout execute exclude-directories header http-password http-user
            include-directories input-file level limit-rate load-cookies max-redirect method output-document
            output-file password post-data post-file private-key progress quota read-timeout referer reject
            restrict-file-names save-cookies secure-protocol timeout tries user user-agent wait waitretry
            """
        ),
        names("base bind-dns-address dns-servers domains"),
    ),
}
_NETWORK_PROGRAMS = names(
    """
    ab aria2c arping autossh aws axel az cloudflared dig doctl drill elinks fping ftp gcloud gh glab grpcurl gsutil
    h2load hey host hping3 http https httpie hydra iperf iperf3 kubectl lftp links links2 lynx mail mailx masscan
    mongo mongosh mosh msmtp mtr mysql mysqladmin mysqldump nc ncat netcat nikto nmap nping nslookup ntpdate openssl
    pg_dump pg_restore ping ping6 psql rclone rdesktop redis-cli s3cmd sendmail sftp siege slogin smbclient snmpwalk
    socat sqlmap ssh-copy-id ssh-keyscan sshfs swaks telnet tftp tnftp tracepath traceroute traceroute6 w3m websocat
    whois wrk xfreerdp xh youtube-dl yt-dlp
    """
)
"""Programs whose words are searched for host-like text."""
_HOST_OPERANDS = names(
    """
    arping dig drill fping ftp host lftp mosh mtr nping nslookup ping ping6 sftp slogin ssh-copy-id ssh-keyscan telnet
    tftp tracepath traceroute traceroute6 whois
    """
)
"""Programs whose operands are hosts, even without a dot."""
_CLONING = names("archive clone fetch ls-remote pull push remote submodule")
_REGISTRIES = names("crane docker nerdctl podman skopeo")
_TUNNELS = ("-J", "-W", "-L", "-R")
_HOSTLIKE = re.compile(r"(?:\w[\w-]*\.)+[a-z][\w-]*\.?|\d{1,3}(?:\.\d{1,3}){3}|localhost", re.IGNORECASE)
_PLAIN = re.compile(r"[\w-]+(?:\.[\w-]+)*\.?")
_SCP_ADDRESS = re.compile(r"(?:[^@/:\s]*@)?([\w-]+(?:\.[\w-]+)*):(?!//)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+-]*:/+")
_PORT = re.compile(r":\d*$")
# DNS limits a host name to 255 bytes.
_MAX_CHARACTERS = 255


def find_operand_hosts(call: Call) -> Iterator[str]:
    """Return the hosts in the words of a program that uses the network."""
    if grammar := _FETCHERS.get(call.name):
        yield from _find_fetch_hosts(call.args, grammar)
    elif call.name == "git":
        # Reached as `host:path`; a name without a dot is a branch in most of its commands.
        verb = next((word.shape for word in call.args if word.shape in _CLONING), "")
        copied = (_SCP_ADDRESS.match(word.shape) for word in (call.args if verb else ()))
        yield from (match[1].lower() for match in copied if match and (verb == "clone" or "." in match[1]))
    elif call.name in ("ssh", "scp", "autossh"):
        for option in _TUNNELS:
            yield from (host for value in option_values(call, option) for host in _split_hosts(value.shape))
    elif call.name in _REGISTRIES:
        yield from (host for word in call.args if "/" in word.shape for host in _find_hostlike(word.shape))
    elif call.name in _NETWORK_PROGRAMS:
        for word in call.args:
            if call.name not in _HOST_OPERANDS or word.shape.startswith(("-", "+")):
                yield from _find_hostlike(word.shape)
            elif _PLAIN.fullmatch(host := next(_find_address_hosts(word.shape), "")) and not host.isdigit():
                yield host


def _find_fetch_hosts(args: list[Word], grammar: Grammar) -> Iterator[str]:
    """Return URLs in operands and option values; unknown words count as operands."""
    index = 0
    while index < len(args):
        shape = args[index].shape
        following = args[index + 1].shape if index + 1 < len(args) else ""
        index += 1
        if not shape.startswith("-") or shape == "-":
            yield from _find_address_hosts(shape)
            continue
        consumed, value = (
            _parse_long_option(shape, following, grammar)
            if shape.startswith("--")
            else _parse_short_option(shape, following, grammar)
        )
        index += consumed
        yield from _split_hosts(value)


def _parse_long_option(shape: str, following: str, grammar: Grammar) -> tuple[int, str]:
    """Return how many more words a long option takes, and its hosts."""
    name, equals, value = shape[2:].partition("=")
    names_host = (
        bool(name) and name not in grammar.long_values and any(option.startswith(name) for option in grammar.long_hosts)
    )
    takes = not equals and (names_host or name in grammar.long_values)
    return int(takes), (value if equals else following) if names_host else ""


def _parse_short_option(shape: str, following: str, grammar: Grammar) -> tuple[int, str]:
    """Return the same for short options in one word."""
    for position, letter in enumerate(shape[1:], 2):
        if letter in grammar.hosts:
            return int(not shape[position:]), shape[position:] or following
        if letter in grammar.values:
            return int(not shape[position:]), ""
    return 0, ""


def _find_address_hosts(text: str) -> Iterator[str]:
    """Return the host of a URL; an unusual one is returned as written, with each of its parts."""
    if text.startswith("file:"):
        return
    authority = re.split(r"[/?#\\]", _SCHEME.sub("", text, count=1), maxsplit=1)[0].rpartition("@")[2].lower()
    host = authority[1:].partition("]")[0] if authority.startswith("[") else _PORT.sub("", authority)
    if host and host != "-":
        yield host
    if host and not _PLAIN.fullmatch(host):
        yield from _find_hostlike(authority)


def _split_hosts(text: str) -> Iterator[str]:
    """Return every host in a value such as `host:port:address`."""
    if "://" in text:
        yield from _find_address_hosts(text)
        return
    for piece in re.split(r"[:,\s\[\]]+", text.rpartition("@")[2].lower()):
        if piece and not piece.isdigit():
            yield piece.lstrip("+-")


def _find_hostlike(text: str) -> Iterator[str]:
    """Return host-like text in any word, including option values."""
    if any(character.isspace() for character in text):
        return
    glued = (text[2:],) if text.startswith("-") and not text.startswith("--") else ()
    for piece in (*re.split(r"[/:@=,\[\]{}()]+", text), *glued):
        if len(piece) <= _MAX_CHARACTERS and _HOSTLIKE.fullmatch(piece):
            yield piece.lower()
