// The source tree keeps its shape: imports go one way without cycles, and every transaction is in the list.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { transactions } from '../../src/transactions.ts';

const root = resolve(import.meta.dirname, '../../src');

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => join(folder, file));
}

function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/^(?:import|export) [^;]*?from '(\.[^']+)';/gms);
  return [...found].map(([, path = '']) => resolve(dirname(file), path));
}

/** Types are erased: they bind nothing at run time. */
function valueImportsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8').replaceAll(/^(?:import|export) type [^;]*;$/gms, '');
  const found = text.matchAll(/^(?:import|export) [^;]*?from '(\.[^']+)';/gms);
  return [...found].map(([, path = '']) => relative(root, resolve(dirname(file), path)));
}

const files = sources(root);
const graph = new Map(
  files.map((file) => [relative(root, file), importsOf(file).map((f) => relative(root, f))]),
);

/**
 * The rooms of the tree, from the lowest to the highest. A file imports from its own room and from lower ones, types
 * included. All files of routes are one room, because they answer through `http`; those of `v0` translate them.
 */
const rooms: readonly string[] = [
  'errors.ts',
  'text',
  'process',
  'metrics',
  'validation',
  'git',
  'models',
  'outgoing',
  'blobs',
  'config.ts',
  'tracing',
  'db',
  'users',
  'audit',
  'encryption',
  'keys',
  'signIn',
  'budgets',
  'mcp',
  'settings',
  'secrets',
  'providerKeys',
  'forge',
  // Which conversation, and in which state: the event log needs to know no more.
  'conversations/id.ts',
  'conversations/states.ts',
  'events',
  'webhooks',
  'conversations',
  'accounts',
  'repositories',
  'bridge',
  'sandbox',
  'gateway',
  'agents',
  'workspaces',
  'runs',
  'nodes',
  'backups',
  'http',
  'routes',
  'v0',
  'client',
  'acp',
  'transactions.ts',
  'database.ts',
  'services.ts',
  'routes.ts',
  'app.ts',
  'cli',
  'main.ts',
];

function roomOf(file: string): string {
  if (rooms.includes(file)) return file;
  if (file.startsWith('v0/')) return 'v0';
  if (file.startsWith('acp/')) return 'acp';
  return /\/(routes|\w+Routes)\.ts$/.test(file) ? 'routes' : (file.split('/')[0] ?? '');
}

/** Within a room, too, data flows one way. */
function layerOf(file: string): number {
  return ['store', 'service', 'routes'].findIndex((role) => file.toLowerCase().endsWith(`${role}.ts`));
}

describe('the source tree', () => {
  it('has a place for every room in one order, and no import goes up', () => {
    const known = [...graph.keys()].filter((file) => !rooms.includes(roomOf(file)));
    assert.deepEqual(known, []);
    const upward = [...graph].flatMap(([file, imports]) =>
      imports
        .filter((target) => rooms.indexOf(roomOf(target)) > rooms.indexOf(roomOf(file)))
        .map((target) => `${file} imports ${target}`),
    );
    assert.deepEqual(upward, []);
  });

  it('goes from routes to services to stores, never back and never past a service', () => {
    const wrong = [...graph].flatMap(([file, imports]) =>
      imports
        .filter((target) => layerOf(file) >= 0 && layerOf(target) > layerOf(file))
        .concat(roomOf(file) === 'routes' ? imports.filter((target) => layerOf(target) === 0) : [])
        .map((target) => `${file} imports ${target}`),
    );
    assert.deepEqual(wrong, []);
  });

  it('has a client that runs anywhere: with the decoder of events it imports types alone from elsewhere, and names nothing of Node', () => {
    // The service decodes its own log with the same code. It is below every room, so that nothing is written twice.
    const isPortable = (file: string) => /^(client|events\/decoder)\//.test(file);
    const room = [...graph].filter(([file]) => isPortable(file));
    assert.ok(room.length > 3);
    assert.deepEqual(
      room.flatMap(([file]) => valueImportsOf(join(root, file))).filter((target) => !isPortable(target)),
      [],
    );
    const ofNode = room.filter(([file]) =>
      /\b(Buffer|process|require|NodeJS)\b|'node:|from '(?!\.|typebox)/.test(
        readFileSync(join(root, file), 'utf8'),
      ),
    );
    assert.deepEqual(
      ofNode.map(([file]) => file),
      [],
    );
  });

  it('has no import cycle', () => {
    const done = new Set<string>();
    const visit = (file: string, trail: readonly string[]): void => {
      assert.ok(!trail.includes(file), `a circle: ${[...trail, file].join(' → ')}`);
      if (done.has(file)) return;
      for (const target of graph.get(file) ?? []) visit(target, [...trail, file]);
      done.add(file);
    };
    for (const file of graph.keys()) visit(file, []);
  });

  it('opens every file with why it exists', () => {
    const silent = files.filter((file) => !/^\/\/ \S/.test(readFileSync(file, 'utf8')));
    assert.deepEqual(silent, []);
  });

  it('keeps the statuses of HTTP in one room, beside the bridge, the gateway, the older contract, and the agent, the client and the cluster that are spoken to', () => {
    const knowing = files
      .filter(
        (file) => !/^(http|gateway|bridge|agents|client|v0|sandbox\/kubernetes)\//.test(relative(root, file)),
      )
      .filter((file) => /\.code\(4|\.code\(5|statusCode|status: [45]\d\d/.test(readFileSync(file, 'utf8')));
    assert.deepEqual(knowing, []);
  });
});

describe('the list of transactions', () => {
  it('holds every transaction that a store declares, each under its own name', () => {
    const declared = files.flatMap((file) =>
      [
        ...readFileSync(file, 'utf8').matchAll(/= (?:read|slowRead|write|repeatableWrite)\(\s*'([^']+)'/g),
      ].map(([, name]) => name),
    );
    const listed = transactions.map(({ name }) => name);
    assert.ok(declared.length > 10);
    assert.deepEqual(declared.toSorted(), listed.toSorted());
    assert.equal(new Set(listed).size, listed.length);
  });
});
