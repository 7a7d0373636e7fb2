// A small assembler for classic BPF, in which seccomp filters are written. Instructions have eight bytes, and jumps
// only go forward.

export type Step =
  /** Loads a 32-bit word of the seccomp data. */
  | { readonly load: number }
  | { readonly and: number }
  /** Jumps to the label if the comparison is true, otherwise continues. */
  | { readonly when: 'equal' | 'greater' | 'atLeast' | 'anyBit'; readonly value: number; readonly to: string }
  | { readonly answer: number }
  | { readonly label: string };

const codes = {
  load: 0x20, // LD | W | ABS
  and: 0x54, // ALU | AND | K
  equal: 0x15, // JMP | JEQ | K
  greater: 0x25, // JMP | JGT | K
  atLeast: 0x35, // JMP | JGE | K
  anyBit: 0x45, // JMP | JSET | K
  answer: 0x06, // RET | K
} as const;

const instructionBytes = 8;
/** Jump distances are stored in one byte, and every kernel accepts a program of this size. */
const jumpMax = 255;
const instructionsMax = 4_096;

function encode(code: number, value: number, jump = 0): Buffer {
  const bytes = Buffer.alloc(instructionBytes);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jump, 2);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}

/** Throws if a label is missing, lies behind the jump, or is too far away. */
export function assemble(steps: readonly Step[]): Buffer {
  const offsets = new Map<string, number>();
  let count = 0;
  for (const step of steps) {
    if ('label' in step) offsets.set(step.label, count);
    else count++;
  }
  if (count > instructionsMax) throw new Error('the filter is too long');
  let at = 0;
  const encoded = steps.flatMap((step) => {
    if ('label' in step) return [];
    at++;
    if ('load' in step) return [encode(codes.load, step.load)];
    if ('and' in step) return [encode(codes.and, step.and)];
    if ('answer' in step) return [encode(codes.answer, step.answer)];
    const jump = (offsets.get(step.to) ?? -1) - at;
    if (jump < 0 || jump > jumpMax) throw new Error(`the filter cannot jump to ${step.to}`);
    return [encode(codes[step.when], step.value, jump)];
  });
  return Buffer.concat(encoded);
}
