// Reads the commands at the head of a push before any of it is forwarded, and refuses them in git's own format. See
// gitprotocol-pack(5).

interface PushCommand {
  readonly ref: string;
  readonly deletes: boolean;
}

export interface PushHead {
  /** Empty for a request that only tests whether a push would be allowed. */
  readonly commands: readonly PushCommand[];
  readonly capabilities: ReadonlySet<string>;
  /** What was read of the body, which must be forwarded. */
  readonly read: Buffer;
}

const headBytesMax = 256 * 1024;
const lengthDigits = 4;
const command = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) ([^\0]+)$/;

/** The lines before the first flush; `more` if it has not arrived yet, undefined if they are not valid. */
function linesOf(head: Buffer): string[] | 'more' | undefined {
  const lines: string[] = [];
  let at = 0;
  for (;;) {
    const digits = head.toString('latin1', at, at + lengthDigits);
    if (digits.length < lengthDigits) return 'more';
    if (!/^[0-9a-f]{4}$/i.test(digits)) return undefined;
    const length = Number.parseInt(digits, 16);
    if (length === 0) return lines;
    if (length <= lengthDigits) return undefined;
    if (at + length > head.length) return 'more';
    lines.push(head.toString('utf8', at + lengthDigits, at + length).replace(/\n$/, ''));
    at += length;
  }
}

function parse(lines: readonly string[], read: Buffer): PushHead | undefined {
  const commands: PushCommand[] = [];
  let capabilities: ReadonlySet<string> = new Set();
  for (const line of lines) {
    if (/^shallow [0-9a-f]+$/.test(line)) continue;
    const [text = '', wanted] = line.split('\0', 2);
    const [, , to = '', ref = ''] = command.exec(text) ?? [];
    if (ref === '') return undefined;
    if (wanted !== undefined) capabilities = new Set(wanted.trim().split(' '));
    commands.push({ ref, deletes: /^0+$/.test(to) });
  }
  return { commands, capabilities, read };
}

/** Reads the head of the body. Returns undefined if it is not a valid push, or too large. */
export async function readPushHead(pieces: AsyncIterator<Buffer>): Promise<PushHead | undefined> {
  let read = Buffer.alloc(0);
  for (;;) {
    const lines = linesOf(read);
    if (lines === undefined) return undefined;
    if (lines !== 'more') return parse(lines, read);
    const next = await pieces.next();
    if (next.done || read.length + next.value.length > headBytesMax) return undefined;
    read = Buffer.concat([read, next.value]);
  }
}

function packet(data: string | Buffer): Buffer {
  const body = Buffer.from(data);
  return Buffer.concat([
    Buffer.from((body.length + lengthDigits).toString(16).padStart(lengthDigits, '0')),
    body,
  ]);
}

const flush = Buffer.from('0000');
const sideBand = Buffer.from([1]);
const sideBandBytesMax = 900;

/** The report that git shows for each ref. Undefined if the client did not ask for one. */
export function refusalReport({ commands, capabilities }: PushHead, sentence: string): Buffer | undefined {
  if (!capabilities.has('report-status') && !capabilities.has('report-status-v2')) return undefined;
  const refusals = commands.map(({ ref }) => packet(`ng ${ref} ${sentence}\n`));
  const report = Buffer.concat([packet('unpack ok\n'), ...refusals, flush]);
  if (!capabilities.has('side-band-64k') && !capabilities.has('side-band')) return report;
  const bands: Buffer[] = [];
  for (let at = 0; at < report.length; at += sideBandBytesMax)
    bands.push(packet(Buffer.concat([sideBand, report.subarray(at, at + sideBandBytesMax)])));
  return Buffer.concat([...bands, flush]);
}
