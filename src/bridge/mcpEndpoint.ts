// An SSE MCP server names its message URL in the first event of its stream. It is replaced by a URL of the bridge;
// everything else is forwarded unchanged.

const firstEventBytesMax = 64 * 1024;

const blockEnd = /\r\n\r\n|\n\n|\r\r/;

function fieldOf(block: string, name: string): string | undefined {
  const line = block.split(/\r\n|\n|\r/).find((one) => one.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}

/** Returns undefined if the block names no URL. Throws if the URL is on another server. */
function messageUrlIn(block: string, server: string): URL | undefined {
  const data = fieldOf(block, 'event') === 'endpoint' ? fieldOf(block, 'data') : undefined;
  if (data === undefined) return undefined;
  const url = URL.parse(data, server);
  if (url === null || url.origin !== new URL(server).origin)
    throw new Error('the place for messages is on another server');
  return url;
}

/** The end of the first event. Latin-1 makes positions in the text positions in the bytes. */
function findEnd(bytes: Buffer): number {
  const match = blockEnd.exec(bytes.toString('latin1'));
  return match === null ? 0 : match.index + match[0].length;
}

/** `replace` stores the URL and returns the one to send instead. */
export function rewriteEndpoint(server: string, replace: (url: URL) => string) {
  return async function* (stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let waiting: Buffer = Buffer.alloc(0);
    let named = false;
    for await (const chunk of stream) {
      waiting = Buffer.concat([waiting, chunk]);
      for (let end = named ? 0 : findEnd(waiting); end > 0; end = named ? 0 : findEnd(waiting)) {
        const block = waiting.subarray(0, end);
        waiting = waiting.subarray(end);
        const place = messageUrlIn(block.toString(), server);
        named = place !== undefined;
        yield place === undefined ? block : Buffer.from(`event: endpoint\ndata: ${replace(place)}\n\n`);
      }
      if (!named && waiting.length > firstEventBytesMax) throw new Error('the first event is too large');
      if (named && waiting.length > 0) {
        yield waiting;
        waiting = Buffer.alloc(0);
      }
    }
    if (waiting.length > 0) yield waiting;
  };
}
