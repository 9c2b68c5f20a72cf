"""What is known of programs by their names alone, as tables."""

from skills_runtime.safety.guard.facts import Level

SYSTEM_DIRECTORIES = frozenset(
    {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"}
)

INERT = frozenset(
    "echo printf true false : test [ [[ exit return break continue shift wait sleep seq expr basename dirname date pwd kill".split()
)
"""What their arguments say does no harm by itself, whatever it is."""

LISTERS = frozenset("ls stat test [ [[ realpath readlink basename dirname mkdir cd pushd du exa eza tree touch".split())
"""They see names and sizes of files, not what is in them."""

LOW = frozenset(
    """
    : [ [[ ack ag arch b2sum b3sum base32 base64 basedpyright basename basenc bat bg break bzcat cal cat cd
    cksum clear cloc cmp col colrm column comm compgen continue cut date declare df diff diff3 dirname dirs
    disown du echo egrep exa exit expand export expr eza factor false fg fgrep file flake8 fmt fold free getconf
    getopts grep groups hash head help hexdump htop iconv id iostat jobs join jq let local logname logout look
    ls lsblk lscpu lsof mapfile md5 md5sum mypy nl nm nproc numfmt objdump od paste pathchk pgrep pinky popd pr
    printf ps ptx pushd pwd py.test pylint pyright pytest read readarray readelf readlink readonly realpath
    return rev rg ripgrep seq set sha1sum sha224sum sha256sum sha384sum sha512sum shasum shellcheck shift size
    sleep stat strings sum suspend sync tac tail test times tokei top tr tree true tsort tty type uname unexpand
    uniq unset uptime users vmstat w wait wc whatis whereis which who whoami xxd xzcat yes yq zcat zgrep
    """.split()
)

_DESTROYS = "destroys a disk or a file system"
_STOPS = "stops or restarts the machine"
_LATER = "makes something run later or at start-up"
_ACCOUNTS = "changes accounts or privileges"
_KERNEL = "changes the kernel or the machine's configuration"
_NETWORK = "changes the machine's network"
_SECRETS = "reads keys or secrets"

HIGH: dict[str, str] = {
    **dict.fromkeys("fdisk sfdisk cfdisk gdisk sgdisk parted partprobe wipefs shred srm blkdiscard mkswap swapon swapoff badblocks"
                    " debugfs tune2fs resize2fs cryptsetup lvremove vgremove pvremove mdadm zpool zfs hdparm nvme sg_format scrub"
                    " mke2fs newfs diskutil".split(), _DESTROYS),
    **dict.fromkeys("shutdown reboot halt poweroff init telinit kexec".split(), _STOPS),
    **dict.fromkeys("crontab at batch atrm systemctl service launchctl update-rc.d chkconfig rc-update initctl systemd-tmpfiles"
                    " loginctl anacron schtasks".split(), _LATER),
    **dict.fromkeys("passwd chpasswd useradd userdel usermod adduser deluser groupadd groupdel groupmod gpasswd chsh chfn visudo"
                    " vipw vigr newgrp sudoedit chage setfacl setcap dscl newusers login".split(), _ACCOUNTS),
    **dict.fromkeys("insmod rmmod modprobe depmod mount umount losetup sysctl dmsetup kpatch bpftool bpftrace setenforce"
                    " update-grub grub-install efibootmgr ldconfig mknod pivot_root switch_root timedatectl hostnamectl"
                    " update-alternatives dkms csrutil nvram hwclock spctl".split(), _KERNEL),
    **dict.fromkeys("iptables ip6tables nft ufw firewall-cmd ebtables arptables ifconfig route ip tc brctl nmcli networksetup"
                    " wg wg-quick pfctl iptables-restore ipset tcpdump tshark dumpcap ettercap arpspoof".split(), _NETWORK),
    **dict.fromkeys("security pass secret-tool keyctl vault op bw lastpass gnome-keyring-daemon".split(), _SECRETS),
    **dict.fromkeys("pkill killall killall5 skill snice".split(), "ends processes by name"),
    **dict.fromkeys("gdb lldb ptrace gcore".split(), "takes over another process"),
    **dict.fromkeys("socat ncat nc netcat telnetd sshd dropbear ngrok cloudflared chisel frpc".split(),
                    "opens a connection that can carry anything"),
}  # fmt: skip
HIGH_PREFIXES = ("mkfs",)

_FETCHES = "fetches from or sends to the network"
_INSTALLS = "installs software, which may run code"
_BUILDS = "runs what a project's files say"
_CHANGES = "changes files"

MEDIUM: dict[str, str] = {
    **dict.fromkeys("curl wget aria2c axel http https xh ftp sftp lftp telnet rsync scp ping traceroute nslookup dig host whois"
                    " nmap masscan openssl s3cmd rclone aws gcloud az gsutil gh glab hub doctl heroku flyctl vercel mail sendmail"
                    " mailx mutt msmtp swaks lynx w3m links elinks youtube-dl yt-dlp git-lfs".split(), _FETCHES),
    **dict.fromkeys("apt apt-get aptitude dpkg yum dnf rpm pacman zypper apk brew port snap flatpak pip pip3 pipx uv poetry conda"
                    " mamba npm pnpm yarn bun gem bundle cargo go composer cpan luarocks nix nix-env guix opam stack cabal"
                    " easy_install corepack nvm pyenv rbenv asdf mise helm terraform ansible ansible-playbook".split(), _INSTALLS),
    **dict.fromkeys("make gmake cmake ninja meson bazel buck gradle gradlew mvn ant sbt rake just task tox nox hatch pdm pre-commit"
                    " invoke fab scons gcc g++ cc clang clang++ rustc javac java dotnet msbuild xcodebuild swift tsc webpack vite"
                    " jest vitest mocha eslint prettier coverage npx bunx docker podman docker-compose kubectl oc nerdctl vagrant"
                    " minikube kind".split(), _BUILDS),
    **dict.fromkeys("cp mv ln mkdir touch tee truncate install patch split csplit tar zip unzip gzip gunzip bzip2 xz zstd 7z ar cpio"
                    " dos2unix unix2dos mktemp mkfifo rename unlink rmdir black isort ruff sort sqlite3 psql mysql redis-cli mongo"
                    " mongosh ffmpeg convert magick".split(), _CHANGES),
    **dict.fromkeys("chmod chown chgrp chattr umask ulimit".split(), "changes who may do what"),
    **dict.fromkeys("kill fuser".split(), "ends a process"),
    **dict.fromkeys("ssh mosh autossh".split(), "runs something on another machine"),
    **dict.fromkeys("vi vim nvim nano emacs pico ed ex view joe micro less more man most screen tmux zellij gnuplot mc".split(),
                    "opens a program from which others can be started"),
    **dict.fromkeys("env printenv history shopt ldd".split(), "shows or changes the shell's own state"),
    **dict.fromkeys("xdg-open open start gio code subl".split(), "opens something in another program"),
}  # fmt: skip

NETWORK = frozenset("curl wget nc ncat netcat socat http https ftp lftp aria2c ssh scp lynx w3m gh aws gsutil dig host nslookup".split())
DECODERS = frozenset("base64 base32 basenc xxd od openssl gpg uudecode gunzip zcat bzcat xzcat gzip tr rev sed awk perl python"
                     " python3 printf hexdump iconv dd cut head tail fold paste".split())  # fmt: skip


def by_name(name: str) -> tuple[Level, str]:
    """What a program's name alone says."""
    if name in HIGH:
        return "high", HIGH[name]
    if name.startswith(HIGH_PREFIXES):
        return "high", _DESTROYS
    if name in LOW:
        return "low", ""
    return "medium", MEDIUM.get(name, "runs a program the guard does not know")


def is_known(name: str) -> bool:
    """Whether a table or a judge knows the program."""
    return name in LOW or name in HIGH or name in MEDIUM or name.startswith(HIGH_PREFIXES)
