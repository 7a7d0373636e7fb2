// The system calls that the seccomp filter checks, with their numbers on each architecture. The numbers come from the
// kernel's headers; a test compares them if those are installed.

export const architectures = ['x64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** A system call and its number on each architecture; null if it does not exist there. */
export type CallRow = readonly [name: string, x64: number | null, arm64: number | null];

interface ArchitectureFacts {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly auditArch: number;
  /** Numbers from this one on belong to another ABI (x32). */
  readonly foreignFrom?: number;
}

export const facts: Readonly<Record<Architecture, ArchitectureFacts>> = {
  x64: { auditArch: 0xc000003e, foreignFrom: 0x40000000 },
  arm64: { auditArch: 0xc00000b7 },
};

/**
 * The newest system call that was reviewed (file_setattr, Linux 6.17). Later ones get ENOSYS, as on an older kernel.
 * Since Linux 5.1, new calls have the same number on all architectures.
 */
export const newestCall = 469;

/** Refused with EPERM whatever the arguments. docs/sandbox.md says why each group is here. */
export const refusedCalls: Readonly<Record<string, readonly CallRow[]>> = {
  otherProcesses: [
    ['ptrace', 101, 117],
    ['process_vm_readv', 310, 270],
    ['process_vm_writev', 311, 271],
    ['process_madvise', 440, 440],
    ['pidfd_getfd', 438, 438],
    ['kcmp', 312, 272],
  ],
  mountsAndNamespaces: [
    ['mount', 165, 40],
    ['umount2', 166, 39],
    ['move_mount', 429, 429],
    ['open_tree', 428, 428],
    ['open_tree_attr', 467, 467],
    ['fsopen', 430, 430],
    ['fsconfig', 431, 431],
    ['fsmount', 432, 432],
    ['fspick', 433, 433],
    ['mount_setattr', 442, 442],
    ['pivot_root', 155, 41],
    ['chroot', 161, 51],
    ['unshare', 272, 97],
    ['setns', 308, 268],
    ['open_by_handle_at', 304, 265],
  ],
  kernelSubsystems: [
    ['bpf', 321, 280],
    ['perf_event_open', 298, 241],
    ['userfaultfd', 323, 282],
    ['io_uring_setup', 425, 425],
    ['io_uring_enter', 426, 426],
    ['io_uring_register', 427, 427],
    ['fanotify_init', 300, 262],
    ['add_key', 248, 217],
    ['request_key', 249, 218],
    ['keyctl', 250, 219],
    ['modify_ldt', 154, null],
  ],
  memoryPlacement: [
    ['mbind', 237, 235],
    ['set_mempolicy', 238, 237],
    ['get_mempolicy', 239, 236],
    ['set_mempolicy_home_node', 450, 450],
    ['move_pages', 279, 239],
    ['migrate_pages', 256, 238],
  ],
  administration: [
    ['init_module', 175, 105],
    ['finit_module', 313, 273],
    ['delete_module', 176, 106],
    ['kexec_load', 246, 104],
    ['kexec_file_load', 320, 294],
    ['reboot', 169, 142],
    ['swapon', 167, 224],
    ['swapoff', 168, 225],
    ['acct', 163, 89],
    ['quotactl', 179, 60],
    ['quotactl_fd', 443, 443],
    ['syslog', 103, 116],
    ['settimeofday', 164, 170],
    ['clock_settime', 227, 112],
    ['sethostname', 170, 161],
    ['setdomainname', 171, 162],
    ['vhangup', 153, 58],
    ['lookup_dcookie', 212, 18],
    ['uselib', 134, null],
    ['iopl', 172, null],
    ['ioperm', 173, null],
  ],
};

/** Calls that are allowed or refused by their arguments, or answered specially. */
export const judgedCalls = {
  clone: ['clone', 56, 220],
  clone3: ['clone3', 435, 435],
  socket: ['socket', 41, 198],
  socketpair: ['socketpair', 53, 199],
  personality: ['personality', 135, 92],
  ioctl: ['ioctl', 16, 29],
} as const satisfies Readonly<Record<string, CallRow>>;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. `clone` does not support NEWTIME. */
export const namespaceFlags = 0x7e020000;

/** Allowed socket families: all AF_UNIX, NETLINK_ROUTE for AF_NETLINK, and the types below for AF_INET and AF_INET6. */
export const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
export const netlinkRoute = 0;
/**
 * SOCK_STREAM, SOCK_DGRAM and SOCK_RAW, which needs a capability anyway. Higher types are DCCP, SCTP and packet
 * sockets.
 */
export const internetTypeMax = 3;
export const socketTypeMask = 0xf;
/** The default protocol of the type, ICMP, TCP, UDP and ICMPv6. */
export const internetProtocols = [0, 1, 6, 17, 58] as const;

/** PER_LINUX, PER_LINUX32, each with UNAME26, and the query. Others turn memory protections off. */
export const personalities = [0, 0x8, 0x20000, 0x20008, 0xffffffff] as const;

/** TIOCSTI types into a terminal, TIOCLINUX into the console's, TIOCSETD loads line disciplines. */
export const refusedTerminalRequests = [0x5412, 0x541c, 0x5423] as const;

/** The number of a call on an architecture; undefined if it does not exist there. */
export function numberOf([, x64, arm64]: CallRow, architecture: Architecture): number | undefined {
  return { x64, arm64 }[architecture] ?? undefined;
}
