// The house keeps its shape: imports go one way, in no circle, and every transaction is in the list.
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

/** Imports of values; types are erased and bind nothing at run time. */
function importsOf(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+)';/gms);
  return [...found].map(([, path = '']) => resolve(dirname(file), path));
}

const files = sources(root);
const graph = new Map(
  files.map((file) => [relative(root, file), importsOf(file).map((f) => relative(root, f))]),
);

type Layer = 'routes' | 'service' | 'store' | 'db' | 'http' | 'root' | 'cli' | 'plain';

function layerOf(file: string): Layer {
  if (/^(app\w*|main|transactions|database)\.ts$/.test(file)) return 'root';
  if (file.startsWith('cli/')) return 'cli';
  if (file.startsWith('db/')) return 'db';
  if (file.startsWith('http/')) return 'http';
  const role = /(routes|service|store)\.ts$/.exec(file)?.[1];
  return (role as Layer | undefined) ?? 'plain';
}

/** What each layer must not reach for. */
const forbidden: Readonly<Record<Layer, readonly Layer[]>> = {
  root: [],
  cli: ['routes', 'http'],
  routes: ['store', 'db', 'root', 'cli'],
  service: ['routes', 'http', 'root', 'cli'],
  store: ['service', 'routes', 'http', 'root', 'cli'],
  db: ['store', 'service', 'routes', 'http', 'root', 'cli'],
  http: ['store', 'service', 'routes', 'db', 'root', 'cli'],
  plain: ['routes', 'http', 'root', 'cli'],
};

describe('the source tree', () => {
  it('imports in one direction only', () => {
    const upward = [...graph].flatMap(([file, imports]) =>
      imports
        .filter((target) => forbidden[layerOf(file)].includes(layerOf(target)))
        .map((target) => `${file} imports ${target}`),
    );
    assert.deepEqual(upward, []);
  });

  it('has a client that runs anywhere: it imports types alone from outside its room, and names nothing of Node', () => {
    const room = [...graph].filter(([file]) => file.startsWith('client/'));
    assert.ok(room.length > 3);
    assert.deepEqual(
      room.flatMap(([, imports]) => imports).filter((target) => !target.startsWith('client/')),
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

  it('keeps the statuses of HTTP in one room, beside the bridge, the gateway, and the agent and the client that are spoken to', () => {
    const knowing = files
      .filter((file) => !/^(http|gateway|runtime\/bridge|agent|client)\//.test(relative(root, file)))
      .filter((file) => /\.code\(4|\.code\(5|statusCode|status: [45]\d\d/.test(readFileSync(file, 'utf8')));
    assert.deepEqual(knowing, []);
  });
});

describe('the list of transactions', () => {
  it('holds every transaction that a store declares, each under its own name', () => {
    const declared = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/= (?:read|write|repeatableWrite)\(\s*'([^']+)'/g)].map(
        ([, name]) => name,
      ),
    );
    const listed = transactions.map(({ name }) => name);
    assert.ok(declared.length > 10);
    assert.deepEqual(declared.toSorted(), listed.toSorted());
    assert.equal(new Set(listed).size, listed.length);
  });
});
