// Makes system calls from inside a sandbox without a compiler: a static ELF program, put together byte by byte, that
// runs through a list of calls and prints what each returned.
import type { Architecture } from '../../src/sandbox/seccomp/calls.ts';

export interface SystemCall {
  readonly number: number;
  readonly args?: readonly number[];
}

const argumentsMax = 6;
const entryBytes = 8 * (1 + argumentsMax);
const resultBytes = 8;
const loadAddress = 0x400000n;
const headerBytes = 64 + 56;

interface Layout {
  readonly count: number;
  /** Addresses of the list of calls and of the results. */
  readonly calls: bigint;
  readonly results: bigint;
}

function bytes64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
  return bytes;
}

function bytes32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

/** rbx walks the calls, rbp the results, r12 counts; then the results are written and the program exits. */
function codeForX64({ count, calls, results }: Layout): Buffer {
  const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
  const setup = [hex('48bb'), bytes64(calls), hex('48bd'), bytes64(results), hex('41bc'), bytes32(count)];
  const loop = hex(
    [
      '488b03', // mov rax, [rbx]
      '488b7b08', // mov rdi, [rbx+8]
      '488b7310', // mov rsi, [rbx+16]
      '488b5318', // mov rdx, [rbx+24]
      '4c8b5320', // mov r10, [rbx+32]
      '4c8b4328', // mov r8, [rbx+40]
      '4c8b4b30', // mov r9, [rbx+48]
      '0f05', // syscall
      '48894500', // mov [rbp], rax
      '4883c338', // add rbx, 56
      '4883c508', // add rbp, 8
      '41ffcc', // dec r12d
    ].join(''),
  );
  const again = Buffer.from([0x75, 256 - (loop.length + 2)]); // jnz loop
  const write = [
    hex('b801000000 bf01000000 48be'),
    bytes64(results),
    hex('ba'),
    bytes32(count * resultBytes),
  ];
  const exit = hex('0f05 b8e7000000 31ff 0f05'); // syscall; exit_group(0)
  return Buffer.concat([...setup, loop, again, ...write, exit]);
}

/** x19 walks the calls, x20 the results, w21 counts. */
function codeForArm64({ count, calls, results }: Layout): Buffer {
  const move = (register: number, value: bigint) =>
    [0, 1, 2, 3].map((part) => {
      const piece = Number((value >> BigInt(16 * part)) & 0xffffn);
      return ((part === 0 ? 0xd2800000 : 0xf2800000) | (part << 21) | (piece << 5) | register) >>> 0;
    });
  const load = (register: number, offset: number) => 0xf9400000 | ((offset / 8) << 10) | (19 << 5) | register;
  const loop = [
    load(8, 0),
    ...[0, 1, 2, 3, 4, 5].map((index) => load(index, 8 * (index + 1))),
    0xd4000001, // svc #0
    0xf9000280, // str x0, [x20]
    0x91000000 | (entryBytes << 10) | (19 << 5) | 19, // add x19, x19, #56
    0x91000000 | (resultBytes << 10) | (20 << 5) | 20, // add x20, x20, #8
    0x71000400 | (21 << 5) | 21, // subs w21, w21, #1
  ];
  const again = 0x54000001 | ((-loop.length & 0x7ffff) << 5); // b.ne loop
  return Buffer.concat(
    [
      ...[...move(19, calls), ...move(20, results), ...move(21, BigInt(count))],
      ...[...loop, again],
      ...[...move(8, 64n), ...move(0, 1n), ...move(1, results), ...move(2, BigInt(count * resultBytes))],
      ...[0xd4000001, ...move(8, 94n), ...move(0, 0n), 0xd4000001],
    ].map(bytes32),
  );
}

const machines = {
  x64: { elfMachine: 62, code: codeForX64 },
  arm64: { elfMachine: 183, code: codeForArm64 },
} as const satisfies Record<Architecture, unknown>;

/** The ELF header and one segment that can be read, written and run. */
function headers(elfMachine: number, bytes: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.write('\x7fELF\x02\x01\x01', 0, 'latin1');
  header.writeUInt16LE(2, 16); // an executable
  header.writeUInt16LE(elfMachine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(loadAddress + BigInt(headerBytes), 24); // entry
  header.writeBigUInt64LE(64n, 32); // program headers
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(56, 54);
  header.writeUInt16LE(1, 56);
  header.writeUInt32LE(1, 64); // PT_LOAD
  header.writeUInt32LE(7, 68);
  header.writeBigUInt64LE(loadAddress, 80);
  header.writeBigUInt64LE(loadAddress, 88);
  header.writeBigUInt64LE(BigInt(bytes), 96);
  header.writeBigUInt64LE(BigInt(bytes), 104);
  header.writeBigUInt64LE(0x1000n, 112);
  return header;
}

/** A program that makes the calls in order. Missing arguments are 0. */
export function callingProgram(architecture: Architecture, calls: readonly SystemCall[]): Buffer {
  const { elfMachine, code } = machines[architecture];
  const { length: codeBytes } = code({ count: calls.length, calls: 0n, results: 0n });
  const callsAt = headerBytes + Math.ceil(codeBytes / 8) * 8;
  const resultsAt = callsAt + calls.length * entryBytes;
  const bytes = resultsAt + calls.length * resultBytes;
  const program = Buffer.alloc(bytes);
  headers(elfMachine, bytes).copy(program);
  const layout = { count: calls.length, calls: loadAddress + BigInt(callsAt) };
  code({ ...layout, results: loadAddress + BigInt(resultsAt) }).copy(program, headerBytes);
  calls.forEach(({ number, args = [] }, index) => {
    const entry = [number, ...args, 0, 0, 0, 0, 0, 0].slice(0, 1 + argumentsMax);
    Buffer.concat(entry.map((value) => bytes64(BigInt(value)))).copy(program, callsAt + index * entryBytes);
  });
  return program;
}

/** What the program printed: for each call its result, which is -errno where it failed. */
export function resultsOf(output: Buffer): number[] {
  const count = Math.floor(output.length / resultBytes);
  return Array.from({ length: count }, (_, index) => Number(output.readBigInt64LE(index * resultBytes)));
}
