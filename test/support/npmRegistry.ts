// A registry of npm packages on loopback, for a real npm.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';

export interface TestPackage {
  readonly name: string;
  readonly version: string;
  readonly manifest?: object;
  /** Files by path, in addition to package.json. */
  readonly files?: Readonly<Record<string, string>>;
  /** The checksum in the registry does not match. */
  readonly isTampered?: boolean;
}

const blockBytes = 512;

function padded(data: Buffer): Buffer {
  return Buffer.concat([data, Buffer.alloc((blockBytes - (data.length % blockBytes)) % blockBytes)]);
}

/** One file of a tar archive. */
function tarEntry(path: string, text: string): Buffer {
  const header = Buffer.alloc(blockBytes);
  const data = Buffer.from(text);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(path, 0);
  header.write(octal(0o755, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(data.length, 12), 124);
  header.write(octal(0, 12), 136);
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257, 'latin1');
  header.write(
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    ),
    148,
  );
  return Buffer.concat([header, padded(data)]);
}

function tarballOf({ name, version, manifest, files = {} }: TestPackage): Buffer {
  const entries = { 'package.json': JSON.stringify({ name, version, ...manifest }), ...files };
  const tar = Object.entries(entries).map(([path, text]) => tarEntry(`package/${path}`, text));
  return gzipSync(Buffer.concat([...tar, Buffer.alloc(2 * blockBytes)]));
}

/** Returns the address of a registry with these packages, which ends with the test. */
export async function startNpmRegistry(t: TestContext, packages: readonly TestPackage[]): Promise<string> {
  const tarballs = packages.map(tarballOf);
  const server = createServer(({ url = '' }, response) => {
    const [, index] = /^\/tarball\/(\d+)$/.exec(url) ?? [];
    if (index !== undefined) return void response.end(tarballs[Number(index)]);
    const name = decodeURIComponent(url.slice(1));
    const found = packages.filter((one) => one.name === name);
    if (found.length === 0) return void response.writeHead(404).end('{}');
    const versions = found.map((one) => {
      const at = packages.indexOf(one);
      const bytes = one.isTampered ? 'something else' : (tarballs[at] ?? '');
      const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
      const dist = { tarball: `${origin}/tarball/${at}`, integrity };
      return [one.version, { name, version: one.version, ...one.manifest, dist }];
    });
    response.setHeader('Content-Type', 'application/json');
    response.end(
      JSON.stringify({
        name,
        'dist-tags': { latest: found.at(-1)?.version },
        versions: Object.fromEntries(versions),
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => server.close());
  return origin;
}
