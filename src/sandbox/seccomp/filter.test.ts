// The seccomp filter of both architectures, read as the kernel reads it, and its numbers beside the kernel's headers.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  type Architecture,
  architectures,
  type CallRow,
  facts,
  judgedCalls,
  newestCall,
  numberOf,
  refusedCalls,
} from './calls.ts';
import { createFilter } from './filter.ts';

interface Call {
  readonly number: number;
  readonly auditArch?: number;
  readonly args?: readonly number[];
}

/** Runs the program on a call, as the kernel does, and names its answer. */
function judge(architecture: Architecture, { number, args = [], auditArch }: Call): string {
  const program = createFilter(architecture);
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(auditArch ?? facts[architecture].auditArch, 4);
  args.forEach((value, index) => {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  });
  let word = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at);
    const value = program.readUInt32LE(at + 4);
    const holds = { 21: word === value, 37: word > value, 53: word >= value, 69: (word & value) !== 0 };
    if (code === 0x06) return answerName(value);
    if (code === 0x20) word = data.readUInt32LE(value);
    else if (code === 0x54) word = (word & value) >>> 0;
    else if (code in holds) at += 8 * program.readUInt8(at + (holds[code as keyof typeof holds] ? 2 : 3));
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the program has no end');
}

function answerName(value: number): string {
  if (value === 0x7fff0000) return 'allowed';
  if (value === 0x80000000) return 'killed';
  assert.equal(value & 0xffff0000, 0x00050000);
  return { 1: 'EPERM', 38: 'ENOSYS', 93: 'EPROTONOSUPPORT', 97: 'EAFNOSUPPORT' }[value & 0xffff] ?? 'other';
}

const allRefused = Object.values(refusedCalls).flat();

/** Calls of everyday programs: read, write, openat, execve, exit_group, wait4, futex, kill, mmap, mknodat, seccomp. */
const everyday = {
  x64: [0, 1, 257, 59, 231, 61, 202, 62, 9, 259, 317],
  arm64: [63, 64, 56, 221, 94, 260, 98],
};

for (const architecture of architectures)
  describe(`the seccomp filter of ${architecture}`, () => {
    const numberIn = (row: CallRow) => numberOf(row, architecture) ?? Number.NaN;
    const answer = (row: CallRow, ...args: number[]) => judge(architecture, { number: numberIn(row), args });
    const { clone, clone3, socket, socketpair, personality, ioctl } = judgedCalls;

    it('refuses every call of its list with EPERM, and allows all others up to the newest that it knows', () => {
      const expected = new Map<number, string>();
      for (const row of allRefused) expected.set(numberIn(row), 'EPERM');
      expected.set(numberIn(clone3), 'ENOSYS');
      expected.set(numberIn(socket), 'EAFNOSUPPORT');
      expected.set(numberIn(socketpair), 'EAFNOSUPPORT');
      const differing = Array.from({ length: newestCall + 1 }, (_, number) => number).filter(
        (number) => judge(architecture, { number }) !== (expected.get(number) ?? 'allowed'),
      );
      assert.deepEqual(differing, []);
      for (const number of everyday[architecture]) assert.equal(judge(architecture, { number }), 'allowed');
    });

    it('answers newer calls, and no call, as a kernel that does not have them', () => {
      for (const number of [newestCall + 1, 1_000, 0x3fffffff, 0xffffffff])
        assert.equal(judge(architecture, { number }), 'ENOSYS');
    });

    it('kills programs of other architectures', () => {
      for (const auditArch of [0x40000003, 0x40000028, 0xc00000f3, 0, ...otherThan(architecture)])
        assert.equal(judge(architecture, { number: 0, auditArch }), 'killed');
    });

    it('refuses clone with each namespace flag, and allows threads and processes', () => {
      for (let bit = 0; bit < 32; bit++) {
        const isNamespace = [17, 25, 26, 27, 28, 29, 30].includes(bit);
        assert.equal(answer(clone, 2 ** bit), isNamespace ? 'EPERM' : 'allowed', `bit ${bit}`);
      }
      assert.equal(answer(clone, 0x3d0f00), 'allowed');
      assert.equal(answer(clone, 17), 'allowed');
    });

    it('allows sockets of four families only, of those the ordinary protocols', () => {
      const cases: readonly [args: number[], expected: string][] = [
        [[1, 5, 0], 'allowed'], // UNIX
        [[2, 1, 6], 'allowed'], // TCP
        [[2, 0o2004001, 0], 'allowed'], // TCP, non-blocking, closed on exec
        [[10, 2, 17], 'allowed'], // UDP
        [[10, 2, 58], 'allowed'], // ICMPv6
        [[16, 3, 0], 'allowed'], // NETLINK_ROUTE
        [[2 ** 32 + 2, 1, 0], 'allowed'], // the kernel sees AF_INET, too
        [[16, 3, 12], 'EPROTONOSUPPORT'], // NETLINK_NETFILTER
        [[16, 3, 9], 'EPROTONOSUPPORT'], // NETLINK_AUDIT
        [[2, 1, 262], 'EPROTONOSUPPORT'], // MPTCP
        [[2, 5, 132], 'EPROTONOSUPPORT'], // SCTP
        [[2, 6, 0], 'EPROTONOSUPPORT'], // DCCP, which needs no protocol
        [[2, 10, 0], 'EPROTONOSUPPORT'], // packets under the name of AF_INET
      ];
      for (const [args, expected] of cases) assert.equal(answer(socket, ...args), expected, String(args));
      for (let family = 0; family < 64; family++)
        if (![1, 2, 10, 16].includes(family)) assert.equal(answer(socket, family, 1, 0), 'EAFNOSUPPORT');
      assert.deepEqual([answer(socketpair, 1, 1), answer(socketpair, 30, 1)], ['allowed', 'EAFNOSUPPORT']);
    });

    it('judges personality and ioctl by the word that the kernel reads', () => {
      for (const value of [0, 8, 0xffffffff]) assert.equal(answer(personality, value), 'allowed');
      for (const value of [0x0040000, 0x0400000]) assert.equal(answer(personality, value), 'EPERM');
      for (const request of [0x5412, 0x541c, 0x5423, 2 ** 32 + 0x5412])
        assert.equal(answer(ioctl, 0, request), 'EPERM');
      assert.equal(answer(ioctl, 0, 0x5401), 'allowed');
    });
  });

function otherThan(architecture: Architecture): number[] {
  return architectures.filter((one) => one !== architecture).map((one) => facts[one].auditArch);
}

describe('the seccomp filter of x64', () => {
  it('kills programs of the x32 ABI', () => {
    for (const number of [0x40000000, 0x40000000 + 101, 0xfffffffe])
      assert.equal(judge('x64', { number }), 'killed');
  });
});

/** Where distributions keep the headers, natively and for cross compilers. arm64 uses the generic numbers. */
const headerFiles: Readonly<Record<Architecture, readonly string[]>> = {
  x64: [
    '/usr/include/x86_64-linux-gnu/asm/unistd_64.h',
    '/usr/x86_64-linux-gnu/include/asm/unistd_64.h',
    ...(process.arch === 'x64' ? ['/usr/include/asm/unistd_64.h'] : []),
  ],
  arm64: ['/usr/include/asm-generic/unistd.h', '/usr/aarch64-linux-gnu/include/asm-generic/unistd.h'],
};

function numbersIn(file: string): Map<string, number> {
  const lines = readFileSync(file, 'utf8').matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm);
  return new Map([...lines].map(([, name = '', number]) => [name, Number(number)]));
}

describe('the numbers of system calls', () => {
  for (const architecture of architectures) {
    const file = headerFiles[architecture].find((path) => existsSync(path));
    it(`are those of the kernel's headers on ${architecture}`, {
      skip: file === undefined && 'no kernel headers for it are installed (linux-libc-dev)',
    }, () => {
      const numbers = numbersIn(file ?? '');
      assert.ok(numbers.size > 200);
      // Headers can be older than the table.
      const newest = Math.max(...numbers.values());
      for (const row of [...allRefused, ...Object.values(judgedCalls)]) {
        const number = numberOf(row, architecture);
        if (number === undefined) assert.ok(!numbers.has(row[0]), row[0]);
        else if (number <= newest) assert.equal(numbers.get(row[0]), number, row[0]);
      }
    });
  }
});
