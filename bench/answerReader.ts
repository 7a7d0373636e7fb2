// Finds the end of a response by its content-length, without parsing more of it.

const headEnd = Buffer.from('\r\n\r\n');
const lengthName = Buffer.from('content-length: ');
const okLine = Buffer.from('HTTP/1.1 200 ');
const zero = 48;
const nine = 57;

function contentLength(bytes: Buffer, headBytes: number): number {
  let at = bytes.indexOf(lengthName);
  if (at < 0 || at > headBytes) throw new Error('an answer without content-length');
  at += lengthName.length;
  let length = 0;
  for (let digit = bytes[at] ?? 0; digit >= zero && digit <= nine; digit = bytes[++at] ?? 0)
    length = length * 10 + digit - zero;
  return length;
}

/** Throws if a response that begins with these bytes is not 200. */
export function checkOk(bytes: Buffer): void {
  if (bytes.compare(okLine, 0, okLine.length, 0, okLine.length) !== 0)
    throw new Error(`an answer other than 200: ${bytes.toString('utf8', 0, 600)}`);
}

/** Calls `done` for each complete response, however it was split. Throws if one is not 200. */
export function answerReader(done: () => void): (bytes: Buffer) => void {
  let held: Buffer | undefined;
  return (fresh) => {
    const bytes = held === undefined ? fresh : Buffer.concat([held, fresh]);
    const head = bytes.indexOf(headEnd);
    const whole = head >= 0 && bytes.length >= head + headEnd.length + contentLength(bytes, head);
    // The socket reuses its buffer for the next read.
    held = whole ? undefined : Buffer.from(bytes);
    if (!whole) return;
    checkOk(bytes);
    done();
  };
}
