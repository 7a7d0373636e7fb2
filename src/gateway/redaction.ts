// Removes the API key from provider responses, because some quote it in errors, and nothing in the sandbox may have it.

const mark = Buffer.from('…');
const nothing = Buffer.alloc(0);
/**
 * Shorter keys stay in answers: they are words such as "ollama", and removing them would change an answer. Errors never
 * contain any.
 */
const lengthMin = { answer: 8, error: 1 };
const lineEnd = 0x0a;

export interface RedactedStream {
  /** Returns what can be sent now. Only an end that may be the start of a key waits for the next piece. */
  push(piece: Buffer): Buffer;
  /** Returns what still waits. */
  end(): Buffer;
}

export interface Redaction {
  stream(): RedactedStream;
  text(text: string): string;
}

/** The key, and its forms in URLs, JSON and basic authentication. */
function formsOf(key: string): readonly Buffer[] {
  // Only whole base64 groups, because the last one depends on what follows.
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

/** The position from which the end of the text may be the start of the key. */
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
