// Builds the service without the work for metrics, to measure what they cost. The product has no switch for this: the build
// changes the sources on their way, and fails if one of them has no longer what it replaces.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';
import { buildService } from '../buildService.ts';
import type { Lifetime } from './lifetime.ts';

const out = 'dist-unmetered';
const root = fileURLToPath(new URL('../', import.meta.url));

interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const changes: readonly Change[] = [
  { file: 'src/http/server.ts', from: '  measureRequests(app, options.metrics);\n', to: '' },
  {
    file: 'src/http/fastLane.ts',
    from: '    observe((performance.now() - since) / 1_000);\n',
    to: '',
  },
  { file: 'src/http/fastLane.ts', from: '    const since = performance.now();\n', to: '' },
  {
    file: 'src/app.ts',
    from: '      (calls) => metrics.commits.observe(commitKind, calls),\n',
    to: '',
  },
  {
    file: 'src/metrics/instruments.ts',
    from: 'add: (values, count = 1) => {',
    to: 'add: () => {}, unused: () => {',
  },
  {
    file: 'src/metrics/instruments.ts',
    from: '    observe: (values, value) => count(series.of(values), value),',
    to: '    observe: () => {},',
  },
];

function changed(file: string): string {
  return changes
    .filter((change) => change.file === file)
    .reduce(
      (text, { from, to }) => {
        if (text.split(from).length !== 2)
          throw new Error(`${file} does not contain this text once: ${from}`);
        return text.replace(from, () => to);
      },
      readFileSync(join(root, file), 'utf8'),
    );
}

const withoutMetrics: Plugin = {
  name: 'without-metrics',
  setup: ({ onLoad }) => {
    for (const file of new Set(changes.map((change) => change.file)))
      onLoad({ filter: new RegExp(`/${file.replaceAll('.', '\\.')}$`) }, () => ({
        contents: changed(file),
        loader: 'ts',
      }));
  },
};

/** Returns the program. It is removed at the end. */
export async function buildUnmetered(lifetime: Lifetime): Promise<string> {
  lifetime.atEnd(async () => rmSync(join(root, out), { recursive: true, force: true }));
  if (!(await buildService(out, [], [withoutMetrics]))) throw new Error('esbuild is not installed');
  return join(root, out, 'main.js');
}
