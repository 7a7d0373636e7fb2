// Parses what a server sent on a raw connection as a list of responses.

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly body: any;
}

/** The complete responses in order, without interim ones (100 Continue). */
export function readAnswers(text: string, method = 'GET'): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return answers;
    const [line = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    if (Number.isNaN(status)) throw new Error(`this is no status line: ${line}`);
    rest = rest.slice(end + 4);
    if (status < 200) continue;
    const headers = Object.fromEntries(
      lines.map((header) => {
        const colon = header.indexOf(':');
        return [header.slice(0, colon).toLowerCase(), header.slice(colon + 1).trim()];
      }),
    );
    const length = method === 'HEAD' ? 0 : Number(headers['content-length'] ?? 0);
    const bytes = Buffer.from(rest);
    if (bytes.length < length) return answers;
    const body = bytes.subarray(0, length).toString();
    rest = bytes.subarray(length).toString();
    const isJson = headers['content-type']?.includes('json') && body !== '';
    answers.push({ status, headers, body: isJson ? JSON.parse(body) : body });
  }
}
