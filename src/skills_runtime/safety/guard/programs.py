"""What is known of programs by their names alone, as tables."""

import re

from skills_runtime.safety.guard.facts import Level
from skills_runtime.safety.guard.text import names

SYSTEM_DIRECTORIES = names("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin")

INERT = names(
    """
    echo printf true false : test [ [[ exit return break continue shift wait sleep seq expr basename dirname date
    pwd kill
    """
)
"""What their arguments say does no harm by itself, whatever it is."""

DECLARE = names("declare typeset export readonly local unset")

LISTERS = names("ls stat test [ [[ realpath readlink basename dirname mkdir cd pushd du exa eza tree touch")
"""They see names and sizes of files, not what is in them."""

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
    """A table from names to reasons, out of one from reasons to names."""
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

MEDIUM: dict[str, str] = reasons(
    {
        "fetches from or sends to the network": """
            curl wget aria2c axel http https xh ftp sftp lftp telnet rsync scp ping traceroute nslookup
            dig host whois nmap masscan openssl s3cmd rclone aws gcloud az gsutil gh glab hub doctl heroku
            flyctl vercel mail sendmail mailx mutt msmtp swaks lynx w3m links elinks youtube-dl yt-dlp
            git-lfs
        """,
        "installs software, which may run code": """
            apt apt-get aptitude dpkg yum dnf rpm pacman zypper apk brew port snap flatpak pip pip3 pipx
            uv poetry conda mamba npm pnpm yarn bun gem bundle cargo go composer cpan luarocks nix nix-env
            guix opam stack cabal easy_install corepack nvm pyenv rbenv asdf mise helm terraform ansible
            ansible-playbook
        """,
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
        "runs something on another machine": "ssh mosh autossh",
        "opens a program from which others can be started": """
            vi vim nvim nano emacs pico ed ex view joe micro less more man most screen tmux zellij gnuplot
            mc
        """,
        "shows or changes the shell's own state": "env printenv shopt ldd enable complete",
        "uses keys": "gpg gpg2 age minisign signify",
        "opens something in another program": "xdg-open open start gio code subl",
    }
)

LOOKS: dict[str, re.Pattern[str]] = {
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
"""Uses of dangerous programs that only look."""

NETWORK = names(
    """
    aria2c aws curl dig ftp gh gsutil host http https lftp lynx nc ncat netcat nslookup scp socat ssh w3m wget
    """
)

DECODERS = names(
    """
    awk base32 base64 basenc bzcat cut dd fold gpg gunzip gzip head hexdump iconv od openssl paste perl printf
    python python3 rev sed tail tr uudecode xxd xzcat zcat
    """
)


def by_name(name: str) -> tuple[Level, str]:
    """What a program's name alone says."""
    if name in HIGH:
        return "high", HIGH[name]
    if name.startswith(HIGH_PREFIXES):
        return "high", "destroys a disk or a file system"
    if name in LOW:
        return "low", ""
    return "medium", MEDIUM.get(name, "runs a program the guard does not know")


def is_known(name: str) -> bool:
    """Whether a table or a judge knows the program."""
    return name in LOW or name in HIGH or name in MEDIUM or name.startswith(HIGH_PREFIXES)
