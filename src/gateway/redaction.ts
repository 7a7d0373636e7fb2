// Keeps the key out of what a provider says: some quote it where it is wrong, with any status. Nobody in the sandbox has it.

const mark = Buffer.from('…');
const nothing = Buffer.alloc(0);
/**
 * Keys that are shorter stay in answers: they are words such as "ollama", without which an answer would mean something
 * else. The words of an error have no use for any.
 */
const lengthMin = { answer: 8, error: 1 };
const lineEnd = 0x0a;

export interface RedactedStream {
  /** What may be sent on by now. Only an end that may be the beginning of a key waits for the next piece. */
  push(piece: Buffer): Buffer;
  /** What waited. */
  end(): Buffer;
}

export interface Redaction {
  stream(): RedactedStream;
  text(text: string): string;
}

/** The key, and how it may stand in an address, in JSON and in basic authorization. */
function formsOf(key: string): readonly Buffer[] {
  // Whole groups alone: what ends the last one depends on what follows.
  const bytes = Buffer.from(key);
  const groups = bytes.subarray(0, bytes.length - (bytes.length % 3));
  const forms = [key, groups.toString('base64'), encodeURIComponent(key), JSON.stringify(key).slice(1, -1)];
  return [...new Set(forms)].filter(Boolean).map((form) => Buffer.from(form));
}

function without(text: Buffer, form: Buffer): Buffer {
  let at = text.indexOf(form);
  if (at === -1) return text;
  const kept: Buffer[] = [];
  let from = 0;
  for (; at !== -1; at = text.indexOf(form, from)) {
    kept.push(text.subarray(from, at), mark);
    from = at + form.length;
  }
  return Buffer.concat([...kept, text.subarray(from)]);
}

/** Where the end of a text begins that the form may begin with. */
function beginningAt(text: Buffer, form: Buffer): number {
  if (text.at(-1) === lineEnd) return text.length;
  const first = form[0] ?? 0;
  const from = Math.max(0, text.length - form.length + 1);
  for (let at = text.indexOf(first, from); at !== -1; at = text.indexOf(first, at + 1))
    if (form.subarray(0, text.length - at).equals(text.subarray(at))) return at;
  return text.length;
}

export function createRedaction(key: string | undefined, of: 'answer' | 'error'): Redaction {
  const forms = key !== undefined && key.length >= lengthMin[of] ? formsOf(key) : [];

  function stream(): RedactedStream {
    let waiting: Buffer = nothing;
    return {
      push: (piece) => {
        const whole = waiting.length === 0 ? piece : Buffer.concat([waiting, piece]);
        const text = forms.reduce(without, whole);
        const end = Math.min(text.length, ...forms.map((form) => beginningAt(text, form)));
        waiting = text.subarray(end);
        return text.subarray(0, end);
      },
      end: () => waiting,
    };
  }

  return {
    stream,
    text: (text) => forms.reduce(without, Buffer.from(text)).toString(),
  };
}
