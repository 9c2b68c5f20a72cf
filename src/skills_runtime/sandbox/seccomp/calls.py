"""The numbers of system calls that the filter knows, for each kind of processor."""

from collections.abc import Mapping

X86_64: Mapping[str, int] = {
    "open": 2, "ioctl": 16, "shmget": 29, "socket": 41, "socketpair": 53, "clone": 56, "semget": 64, "msgget": 68,
    "mkdir": 83, "creat": 85, "chmod": 90, "fchmod": 91, "ptrace": 101, "syslog": 103, "mknod": 133, "uselib": 134,
    "personality": 135, "ustat": 136, "sysfs": 139, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155,
    "_sysctl": 156, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
    "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172,
    "ioperm": 173, "create_module": 174, "init_module": 175, "delete_module": 176, "get_kernel_syms": 177,
    "query_module": 178, "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212, "clock_settime": 227,
    "vserver": 236, "mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "mq_open": 240, "kexec_load": 246,
    "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256, "openat": 257, "mkdirat": 258,
    "mknodat": 259, "fchmodat": 268, "unshare": 272, "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300,
    "fanotify_mark": 301, "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320,
    "bpf": 321, "userfaultfd": 323,
}  # fmt: skip

AARCH64: Mapping[str, int] = {
    "lookup_dcookie": 18, "ioctl": 29, "mknodat": 33, "mkdirat": 34, "umount2": 39, "mount": 40, "pivot_root": 41,
    "nfsservctl": 42, "chroot": 51, "fchmod": 52, "fchmodat": 53, "openat": 56, "vhangup": 58, "quotactl": 60,
    "acct": 89, "personality": 92, "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106,
    "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161, "setdomainname": 162,
    "settimeofday": 170, "adjtimex": 171, "mq_open": 180, "msgget": 186, "semget": 190, "shmget": 194, "socket": 198,
    "socketpair": 199, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220, "swapon": 224, "swapoff": 225,
    "mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237, "migrate_pages": 238, "move_pages": 239,
    "perf_event_open": 241, "fanotify_init": 262, "fanotify_mark": 263, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip

EVERYWHERE: Mapping[str, int] = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "openat2": 437, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "set_mempolicy_home_node": 450,
    "fchmodat2": 452, "lsm_set_self_attr": 460, "open_tree_attr": 467, "listns": 470,
}  # fmt: skip
"""Calls that came after the numbers were made the same for all."""

DENIED = (
    # other processes, and the kernel's memory of what they have open
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    # keys that outlive a process, and interfaces with a long record of faults
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd",
    "io_uring_setup", "io_uring_enter", "io_uring_register",
    # the kernel itself
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
    "get_kernel_syms", "query_module", "syslog", "reboot", "acct", "swapon", "swapoff", "quotactl", "quotactl_fd",
    "iopl", "ioperm", "modify_ldt", "lsm_set_self_attr",
    # files by another way than their path
    "open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark", "lookup_dcookie",
    # what the fence is made of
    "mount", "umount2", "pivot_root", "chroot", "setns", "unshare", "fsopen", "fsconfig", "fsmount", "fspick",
    "open_tree", "open_tree_attr", "move_mount", "mount_setattr", "listns",
    # the machine's name and clock
    "sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
    # where memory lies
    "mbind", "set_mempolicy", "set_mempolicy_home_node", "get_mempolicy", "move_pages", "migrate_pages",
    # what nobody needs any more
    "nfsservctl", "vhangup", "uselib", "_sysctl", "ustat", "sysfs", "vserver",
)  # fmt: skip

SHARED_OBJECTS = ("shmget", "msgget", "semget", "mq_open")
"""Memory, queues and semaphores by number or name: private in an own namespace, and denied where there is none."""

MODE_ARGUMENTS: Mapping[str, int] = {
    "chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1,
    "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2,
}  # fmt: skip
"""Which argument is the mode of a file."""

OPENING_ARGUMENTS: Mapping[str, tuple[int, int]] = {"open": (1, 2), "openat": (2, 3)}
"""Which arguments are the flags and the mode, if the flags say that a file is created."""
