"""Tables of programs, hosts and environment variables that are known by name."""

import re

from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.words import names

SYSTEM_DIRECTORIES = names("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin")

INERT = names(
    """
    echo printf true false : test [ [[ exit return break continue shift wait sleep seq expr basename dirname pwd kill
    """
)
"""Programs whose arguments are harmless."""

READ_ONLY_PROGRAMS = names(
    """
    : [ [[ arch b2sum b3sum base32 base64 basename basenc break cat cd cksum cmp col colrm column comm continue
    cut df diff dirname dirs du echo egrep exit expand expr factor false fgrep fmt fold free grep groups head
    hexdump id join kill logname look ls lsblk lscpu md5 md5sum nl nproc numfmt od paste pathchk pgrep pr ps pwd readelf
    readlink realpath return rev seq sha1sum sha224sum sha256sum sha384sum sha512sum shasum shift sleep stat strings
    sum tac tail test tr true tsort tty type uname unexpand uptime users w wc whereis which who whoami yes
    """
)
"""Read-only programs: none of their options writes, runs, loads or connects."""

DECLARE = names("declare typeset export readonly local unset")

LISTERS = names("ls stat test [ [[ realpath readlink basename dirname mkdir cd pushd du exa eza tree touch")
"""Programs that see names and sizes of files, not their content."""

LOW = names(
    """
    : [ [[ ack ag arch b2sum b3sum base32 base64 basedpyright basename basenc bat bg break bzcat cal cat cd cksum
    clear cloc cmp col colrm column comm compgen continue cut date declare df diff diff3 dirname dirs disown du
    echo egrep exa exit expand export expr eza factor false fg fgrep file flake8 fmt fold free getconf getopts
    grep groups hash head help hexdump history htop iconv id iostat jobs join jq let local logname logout look ls
    lsblk lscpu lsof mapfile md5 md5sum mypy nl nm nproc numfmt objdump od paste pathchk pgrep pinky popd pr
    printf ps ptx pushd pwd py.test pylint pyright pytest read readarray readelf readlink readonly realpath return
    rev rg ripgrep seq set sha1sum sha224sum sha256sum sha384sum sha512sum shasum shellcheck shift size sleep sort
    stat strings sum suspend sync tac tail test times tokei top tr tree true tsort tty type uname unexpand uniq
    unset uptime users vmstat w wait wc whatis whereis which who whoami xxd xzcat yes yq zcat zgrep
    """
)


def reasons(groups: dict[str, str]) -> dict[str, str]:
    """Invert a table from reasons to names."""
    return {name: reason for reason, group in groups.items() for name in group.split()}


HIGH: dict[str, str] = reasons(
    {
        "destroys a disk or a file system": """
            fdisk sfdisk cfdisk gdisk sgdisk parted partprobe wipefs shred srm blkdiscard mkswap swapon
            swapoff badblocks debugfs tune2fs resize2fs cryptsetup lvremove vgremove pvremove mdadm zpool
            zfs hdparm nvme sg_format scrub mke2fs newfs diskutil
        """,
        "stops or restarts the machine": "shutdown reboot halt poweroff init telinit kexec",
        "makes something run later or at start-up": """
            crontab at batch atrm systemctl service launchctl update-rc.d chkconfig rc-update initctl
            systemd-tmpfiles loginctl anacron schtasks
        """,
        "changes accounts or privileges": """
            passwd chpasswd useradd userdel usermod adduser deluser groupadd groupdel groupmod gpasswd
            chsh chfn visudo vipw vigr newgrp sudoedit chage setfacl setcap dscl newusers login
        """,
        "changes the kernel or the machine's configuration": """
            insmod rmmod modprobe depmod mount umount losetup sysctl dmsetup kpatch bpftool bpftrace
            setenforce update-grub grub-install efibootmgr ldconfig mknod pivot_root switch_root
            timedatectl hostnamectl update-alternatives dkms csrutil nvram hwclock spctl
        """,
        "changes the machine's network": """
            iptables ip6tables nft ufw firewall-cmd ebtables arptables ifconfig route ip tc brctl nmcli
            networksetup wg wg-quick pfctl iptables-restore ipset tcpdump tshark dumpcap ettercap arpspoof
        """,
        "reads keys or secrets": "security pass secret-tool keyctl vault op bw lastpass gnome-keyring-daemon",
        "ends processes by name": "pkill killall killall5 skill snice",
        "takes over another process": "gdb lldb ptrace gcore",
        "opens a connection that can carry anything": """
            socat ncat nc netcat telnetd sshd dropbear ngrok cloudflared chisel frpc
        """,
    }
)
HIGH_PREFIXES = ("mkfs",)

_FETCHERS = """
    curl wget aria2c axel http https xh ftp sftp lftp telnet rsync scp ping traceroute nslookup
    dig host whois nmap masscan openssl s3cmd rclone aws gcloud az gsutil gh glab hub doctl heroku
    flyctl vercel mail sendmail mailx mutt msmtp swaks lynx w3m links elinks youtube-dl yt-dlp
    git-lfs
"""
_REMOTE_SHELLS = "ssh mosh autossh"
_INSTALLERS = """
    apt apt-get aptitude dpkg yum dnf rpm pacman zypper apk brew port snap flatpak pip pip3 pipx
    uv poetry conda mamba npm pnpm yarn bun gem bundle cargo go composer cpan luarocks nix nix-env
    guix opam stack cabal easy_install corepack nvm pyenv rbenv asdf mise helm terraform ansible
    ansible-playbook
"""
NETWORK_PROGRAMS = names(f"{_FETCHERS} {_REMOTE_SHELLS}")
"""Programs that are there to reach other machines."""
INSTALLERS = names(_INSTALLERS)
"""Package managers, which fetch what they install."""
CLUSTERS = names("docker podman docker-compose kubectl oc nerdctl vagrant minikube kind")
"""Programs that run something in containers or on other machines, outside the sandbox."""

MEDIUM: dict[str, str] = reasons(
    {
        "fetches from or sends to the network": _FETCHERS,
        "installs software, which may run code": _INSTALLERS,
        "runs what a project's files say": """
            make gmake cmake ninja meson bazel buck gradle gradlew mvn ant sbt rake just task tox nox
            hatch pdm pre-commit invoke fab scons gcc g++ cc clang clang++ rustc javac java dotnet msbuild
            xcodebuild swift tsc webpack vite jest vitest mocha eslint prettier coverage npx bunx docker
            podman docker-compose kubectl oc nerdctl vagrant minikube kind
        """,
        "changes files": """
            cp mv ln mkdir touch tee truncate install patch split csplit tar zip unzip gzip gunzip bzip2
            xz zstd 7z ar cpio dos2unix unix2dos mktemp mkfifo rename unlink rmdir black isort ruff
            sqlite3 psql mysql redis-cli mongo mongosh ffmpeg convert magick
        """,
        "changes who may do what": "chmod chown chgrp chattr umask ulimit",
        "ends a process": "kill fuser",
        "runs something on another machine": _REMOTE_SHELLS,
        "opens a program from which others can be started": """
            vi vim nvim nano emacs pico ed ex view joe micro less more man most screen tmux zellij gnuplot
            mc
        """,
        "shows or changes the shell's own state": "env printenv shopt ldd enable complete",
        "uses keys": "gpg gpg2 age minisign signify",
        "opens something in another program": "xdg-open open start gio code subl",
    }
)

READ_ONLY_USES: dict[str, re.Pattern[str]] = {
    "systemctl": re.compile(r"(?:--\S+ )*(?:status|show|list-\S+|is-\S+|cat)\b.*|"),
    "service": re.compile(r"\S+ status|--status-all"),
    "crontab": re.compile(r"-l"),
    "ip": re.compile(r"(?:-\S+ )*(?:a|addr|address|l|link|r|route|n|neigh)(?: (?:show|list)\b.*)?"),
    "ifconfig": re.compile(r"-a|[\w.]+|"),
    "route": re.compile(r"-n|"),
    "mount": re.compile(r"-l|"),
    "sysctl": re.compile(r"-a|[\w.]+"),
    "launchctl": re.compile(r"list.*"),
    "loginctl": re.compile(r"(?:list|show)\S*.*|"),
    "timedatectl": re.compile(r"status|"),
    "hostnamectl": re.compile(r"status|"),
}
"""Read-only uses of dangerous programs."""


def assess_by_name(name: str) -> tuple[Level, str]:
    """Assess a program by its name alone."""
    if name in HIGH:
        return "high", HIGH[name]
    if name.startswith(HIGH_PREFIXES):
        return "high", "destroys a disk or a file system"
    if name in LOW:
        return "low", ""
    return "medium", MEDIUM.get(name, "runs a program the guard does not know")


def is_known(name: str) -> bool:
    """Return whether a table lists the program."""
    return name in LOW or name in HIGH or name in MEDIUM or name.startswith(HIGH_PREFIXES)


_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://(?:[^/?#\s]{0,200}@)?(\[[0-9a-fA-F:]+\]|[\w.-]+)")
_LOGIN = re.compile(r"^[\w.-]+@([\w.-]+):")


def program_name(word: str) -> str:
    """Return the name of a program; a path into a system directory becomes the bare name.

    Any other path stays a path, because `./git` is not the `git` that a rule allows.
    """
    directory, slash, name = word.rpartition("/")
    return name if slash and directory in SYSTEM_DIRECTORIES else word


def find_url_hosts(text: str) -> list[str]:
    """Return the hosts in the URLs or logins of a word."""
    hosts = [match.strip("[]").lower() for match in _URL.findall(text)]
    login = _LOGIN.match(text)
    return [*hosts, login[1].lower()] if login else hosts


_HIGH = re.compile(
    r"(?:LD_|DYLD_|GIT_|GLIBC_|MALLOC_|PYTHON|PYTEST_|PERL|RUBY|NODE_|SKILLS_RUNTIME|LESS|npm_config_|NPM_CONFIG_)\w*"
    r"|PATH|IFS|ENV|BASH_CMDS|BASH_ALIASES|BASH_ENV|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|PS[0-4]|PROMPT_COMMAND|SHELL|EDITOR|VISUAL|FCEDIT|PAGER|MANPAGER"
    r"|BROWSER|SSH_ASKPASS|SUDO_ASKPASS|HOME|XDG_\w+|ZDOTDIR|FPATH|INPUTRC|EXINIT|VIMINIT|TERMINFO|GCONV_PATH|LOCPATH|NLSPATH"
    r"|HOSTALIASES|CLASSPATH|_?JAVA_\w*OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS|RUSTC\w*|CARGO_\w+|GOFLAGS|MAKEFLAGS|MAKEFILES"
    r"|OPENSSL_CONF|CURL_HOME|WGETRC|TAR_OPTIONS|RSYNC_RSH|CVS_RSH|GREP_OPTIONS|DOCKER_HOST|KUBECONFIG|PIP_\w+|UV_\w+|CC|CXX|LUA_\w+"
    r"|R_PROFILE\w*|PHPRC|PHP_INI_SCAN_DIR|VIMRUNTIME|MYVIMRC|HISTFILE|OLDPWD|PWD"
)
_CODE = names(
    """
    ACKRC AR AWKLIBPATH AWKPATH BASH_LOADABLES_PATH BZIP BZIP2 CFLAGS COMPILER_PATH CPATH CPLUS_INCLUDE_PATH
    CPPFLAGS CURL_CA_BUNDLE CVSEDITOR CVSROOT CXXFLAGS C_INCLUDE_PATH DBUS_SESSION_BUS_ADDRESS DOTNET_STARTUP_HOOKS
    FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS FZF_DEFAULT_OPTS_FILE GHCRTS GHC_PACKAGE_PATH GNUMAKEFLAGS GNUPGHOME GOBIN
    GOENV GOPATH GOPROXY GOROOT GOTOOLCHAIN GOTOOLDIR GZIP HG HGEDITOR HGMERGE HGRCPATH HGUSER IPYTHONDIR IRBRC
    JAVA_HOME JVM_OPTS KOTLIN_HOME LDFLAGS LIBRARY_PATH LOCALDOMAIN M2_HOME MANOPT MANPATH MYPYPATH NETRC PARALLEL
    PARALLEL_HOME PGPASSFILE PGSERVICEFILE PGSYSCONFDIR PRYRC PSQLRC PSQL_EDITOR PSQL_PAGER PYLINTHOME PYLINTRC
    RES_OPTIONS RIPGREP_CONFIG_PATH SBT_OPTS SCREENRC SSH_AUTH_SOCK SSLKEYLOGFILE SSL_CERT_DIR SSL_CERT_FILE
    SVN_EDITOR SVN_MERGE SVN_SSH TCLLIBPATH TERMCAP TEXINPUTS UNZIP VIRTUAL_ENV XZ_DEFAULTS XZ_OPT ZIPOPT
    ZSTD_CLEVEL
    """
)
"""Names of start-up files, options, and programs that other programs run."""
# Variables with these prefixes are settings of programs, which include plugins and commands.
_CODE_PREFIXES = names(
    """
    ANSIBLE_ ANT_ APT_CONFIG ASDF_ BAT_ BUNDLE_ BUN_ CABAL_ CCACHE_ CGO_ CMAKE_ COMPOSER CONDA_ CONTAINERS_
    CONTAINER_ COREPACK_ CURL_HOME DENO_ DIRENV_ DISTCC_ DOCKER_ ELIXIR_ EMACS ERL_ GCC_ GDB GEM GIO_ GRADLE_ GST_
    GTK_ GUILE_ GUIX_ HATCH_ HELM_ HOMEBREW_ JULIA_ JUPYTER_ KUBECTL_ LLDB MAMBA_ MAVEN_ MISE_ MYSQL_ NIX_ NOX_
    NUGET_ NVIM OCAML OPAM PACKER_ PDM_ PKG_CONFIG PNPM_ POETRY_ PRE_COMMIT_ QT_ RAKE RUSTUP_ R_ENVIRON R_HOME
    R_LIBS SCCACHE_ TEXMF TF_CLI_ TMUX TOX_ VAGRANT_ VIRTUALENV_ YARN_
    """
)
_CODE_START = re.compile("|".join(sorted(_CODE_PREFIXES)))
_HARMLESS = re.compile(
    r"GIT_(?:AUTHOR|COMMITTER)_\w+|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|LESSCHARSET"
    r"|PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|IOENCODING|UTF8|OPTIMIZE|FAULTHANDLER)|NODE_ENV|NODE_NO_WARNINGS"
    r"|PIP_(?:DISABLE_PIP_VERSION_CHECK|NO_INPUT|NO_CACHE_DIR|QUIET)|CARGO_TERM_\w+|CARGO_INCREMENTAL|UV_NO_\w+"
    r"|HOMEBREW_NO_(?:AUTO_UPDATE|ANALYTICS|ENV_HINTS)|DOTNET_(?:NOLOGO|CLI_TELEMETRY_OPTOUT)|COMPOSE_PROJECT_NAME|HGPLAIN\w*"
)
_SHOWING = re.compile(r"(?:GIT_|MAN)?PAGER|(?:GIT_)?EDITOR|VISUAL|GIT_SEQUENCE_EDITOR|LESS")
_SHOWS = frozenset({"", "cat", "true", ":", "less", "more", "-R", "-FRX", "-F", "-X"})
_MEDIUM = re.compile(
    r"(?:https?|ftp|all|no)_proxy|(?:AWS|AZURE|GOOGLE|OPENAI|ANTHROPIC)_\w+|TMPDIR|TZDIR", re.IGNORECASE
)


def assess_variable(name: str, value: str | None) -> tuple[Level, str] | None:
    """Assess setting a variable; None if it is harmless."""
    name = name.removesuffix("+").split("[", 1)[0]
    if _HARMLESS.fullmatch(name) or (_SHOWING.fullmatch(name) and value in _SHOWS):
        return None
    if name in _CODE or _CODE_START.match(name) or _HIGH.fullmatch(name):
        return "high", "sets a variable that changes what programs do"
    if name.startswith("BASH_FUNC") or (value or "").startswith("() {"):
        return "high", "sets a variable that changes what programs do"
    if _MEDIUM.fullmatch(name):
        return "medium", "sets a variable that changes where programs connect or write"
    return None
