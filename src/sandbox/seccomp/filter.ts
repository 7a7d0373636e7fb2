// The seccomp filter that limits the system calls of programs in a sandbox. bubblewrap installs it right before it
// starts the program, so it does not affect the setup of the sandbox.
import { assemble, type Step } from './bpf.ts';
import {
  type Architecture,
  architectures,
  type CallRow,
  facts,
  families,
  internetProtocols,
  internetTypeMax,
  judgedCalls,
  namespaceFlags,
  netlinkRoute,
  newestCall,
  numberOf,
  personalities,
  refusedCalls,
  refusedTerminalRequests,
  socketTypeMask,
} from './calls.ts';

/** SECCOMP_RET_* of linux/seccomp.h. */
const allow = 0x7fff0000;
const killProcess = 0x80000000;
const errno = (code: number) => 0x00050000 | code;

/**
 * Offsets in struct seccomp_data. Only the low word of an argument is checked, because the kernel reads these as 32
 * bits.
 */
const callOffset = 0;
const architectureOffset = 4;
const argumentOffset = (index: number) => 16 + 8 * index;
/** Programs use this number to provoke ENOSYS; it must not be mistaken for an x32 call. */
const noCall = 0xffffffff;

/** The values on Linux; tests may run elsewhere. */
const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

/** The results come last, because jumps only go forward. */
const answers: readonly Step[] = [
  { label: 'allowed' },
  { answer: allow },
  { label: 'refused' },
  { answer: errno(EPERM) },
  { label: 'missing' },
  { answer: errno(ENOSYS) },
  { label: 'otherProtocol' },
  { answer: errno(EPROTONOSUPPORT) },
  { label: 'killed' },
  { answer: killProcess },
];

const equal = (value: number, to: string): Step => ({ when: 'equal', value, to });
const anyOf = (values: readonly number[], to: string): Step[] => values.map((value) => equal(value, to));

/** Checks of arguments. Each ends in a result. */
const judgements: readonly Step[] = [
  { label: 'clone' },
  { load: argumentOffset(0) },
  { when: 'anyBit', value: namespaceFlags, to: 'refused' },
  { answer: allow },

  { label: 'personality' },
  { load: argumentOffset(0) },
  ...anyOf(personalities, 'allowed'),
  { answer: errno(EPERM) },

  { label: 'ioctl' },
  { load: argumentOffset(1) },
  ...anyOf(refusedTerminalRequests, 'refused'),
  { answer: allow },

  { label: 'socket' },
  { load: argumentOffset(0) },
  equal(families.unix, 'allowed'),
  ...anyOf([families.inet, families.inet6], 'internet'),
  equal(families.netlink, 'netlink'),
  { answer: errno(EAFNOSUPPORT) },
  { label: 'internet' },
  { load: argumentOffset(1) },
  { and: socketTypeMask },
  { when: 'greater', value: internetTypeMax, to: 'otherProtocol' },
  { load: argumentOffset(2) },
  ...anyOf(internetProtocols, 'allowed'),
  { answer: errno(EPROTONOSUPPORT) },
  { label: 'netlink' },
  { load: argumentOffset(2) },
  equal(netlinkRoute, 'allowed'),
  { answer: errno(EPROTONOSUPPORT) },
];

/** Whether there is a filter for an architecture, as Node names it. */
export function hasFilter(architecture: string): architecture is Architecture {
  return architectures.some((one) => one === architecture);
}

/** The program for `bwrap --seccomp`. */
export function createFilter(architecture: Architecture): Buffer {
  const { auditArch, foreignFrom } = facts[architecture];
  const call = (row: CallRow, to: string): Step[] => {
    const number = numberOf(row, architecture);
    return number === undefined ? [] : [equal(number, to)];
  };
  const { clone, clone3, socket, socketpair, personality, ioctl } = judgedCalls;
  return assemble([
    { load: architectureOffset },
    equal(auditArch, 'native'),
    { answer: killProcess },
    { label: 'native' },
    { load: callOffset },
    equal(noCall, 'missing'),
    ...(foreignFrom === undefined
      ? []
      : [{ when: 'atLeast', value: foreignFrom, to: 'killed' } satisfies Step]),
    { when: 'greater', value: newestCall, to: 'missing' },
    // Libraries then fall back to clone. A filter cannot read the flags of clone3, because they are in memory.
    ...call(clone3, 'missing'),
    ...Object.values(refusedCalls).flatMap((rows) => rows.flatMap((row) => call(row, 'refused'))),
    ...call(clone, 'clone'),
    ...call(socket, 'socket'),
    ...call(socketpair, 'socket'),
    ...call(personality, 'personality'),
    ...call(ioctl, 'ioctl'),
    { answer: allow },
    ...judgements,
    ...answers,
  ]);
}
