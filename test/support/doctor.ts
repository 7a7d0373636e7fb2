// What `parley doctor` has found, by the name of each check.
import assert from 'node:assert/strict';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { jsonLines, type Ran } from './commandLine.ts';

export interface Found {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly remedy?: string;
}

export function findings({ stdout, stderr }: Ran): Map<string, Found> {
  const found = jsonLines(stdout) as Found[];
  assert.ok(found.length > 0, stderr);
  for (const { state, remedy, message } of found) {
    assert.match(message, /\.$/);
    assert.equal(remedy !== undefined, state !== 'ok');
  }
  return new Map(found.map((finding) => [finding.check, finding]));
}

export const statesOf = (found: Map<string, Found>) =>
  Object.fromEntries([...found].map(([name, { state }]) => [name, state]));

/** Listens on a free port of this machine until the test ends. */
export async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
