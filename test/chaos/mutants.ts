// Proves the checker: copies of the program, each with one safeguard taken out of its source, must be caught. The
// product has no switch for this.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { projectDir } from '../support/program.ts';

export interface Mutant {
  readonly name: string;
  readonly database: DatabaseKind;
  readonly seed: number;
  readonly seconds: number;
  /** Faults that bring it to light soonest. */
  readonly faults: readonly string[];
  readonly pauseMs?: { readonly min: number; readonly max: number };
  readonly gapMs?: { readonly min: number; readonly max: number };
  readonly roomy?: boolean;
  /** Each text must be in its file, once. */
  readonly changes: readonly { readonly file: string; readonly from: string; readonly to: string }[];
  /** One of these must be among the violations. */
  readonly expected: readonly string[];
}

export const mutants: readonly Mutant[] = [
  {
    name: 'a run that has lost its conversation goes on and may still record',
    database: 'postgres',
    // Pauses one worker after the other.
    seed: 3,
    seconds: 90,
    faults: ['pause-worker'],
    // When it wakes, the agent of the next run has long begun; before it sleeps again it has taken new ones.
    pauseMs: { min: 17_000, max: 20_000 },
    gapMs: { min: 7_000, max: 9_000 },
    roomy: true,
    // Both halves of the fence: without the second one, it is rarely awake for long enough to write.
    changes: [
      {
        file: 'src/conversations/run/store.ts',
        from: ".where('run_id', '=', runId)\n    .where('steps', '<', step)",
        to: ".where('steps', '<', step)",
      },
      {
        file: 'src/runs/lease.ts',
        from: 'if (clock.steady() - renewedAt <= giveUpMs) return true;',
        to: 'if (giveUpMs > 0) return true;',
      },
    ],
    expected: ['lost-run-wrote'],
  },
  {
    name: 'messages of an interrupted turn are given again as if they were new',
    database: 'sqlite',
    seed: 1,
    seconds: 60,
    faults: ['kill'],
    // Long enough for agents to start and get a message between two kills.
    gapMs: { min: 11_000, max: 14_000 },
    changes: [
      {
        file: 'src/runs/prompts/prompts.ts',
        from: 'return [...before, ...textBlock(interrupted), ...again];',
        to: 'return [...before, ...(await toPromptBlocks(await turnMessages()))];',
      },
    ],
    expected: ['doubled-delivery'],
  },
  {
    name: 'a repeated Idempotency-Key creates again',
    database: 'sqlite',
    seed: 1,
    seconds: 10,
    faults: ['kill'],
    changes: [
      {
        file: 'src/conversations/create/store.ts',
        from: 'const found = yield* findClaimed(q, c, claimed);\n      if (found !== undefined) return found;',
        to: '',
      },
    ],
    expected: ['doubled-creation', 'different-answers'],
  },
  {
    name: 'settings are stored over a newer version',
    database: 'postgres',
    seed: 1,
    seconds: 30,
    // Gentle ones: it takes writers at both processes at the same time.
    faults: ['terminate-sessions'],
    gapMs: { min: 2_000, max: 4_000 },
    changes: [
      { file: 'src/settings/store.ts', from: "    .where('version', '=', expectedVersion)\n", to: '' },
    ],
    expected: ['settings-version', 'settings-order', 'settings-lost-race'],
  },
];

/** Builds the program with the change and returns its main file. Throws where the source is not as expected. */
export function buildMutant({ name, changes }: Mutant): { main: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'parley-mutant-'));
  cpSync(join(projectDir, 'src'), join(folder, 'src'), { recursive: true });
  cpSync(join(projectDir, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(projectDir, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of changes) {
    const path = join(folder, file);
    const source = readFileSync(path, 'utf8');
    if (source.split(from).length !== 2)
      throw new Error(`mutant "${name}": ${file} must hold this text exactly once:\n${from}`);
    writeFileSync(
      path,
      source.replace(from, () => to),
    );
  }
  // In a process of its own: esbuild takes paths from the folder in which it was loaded.
  const builder = JSON.stringify(new URL('../../buildService.ts', import.meta.url).href);
  const script = `const { buildService } = await import(${builder}); if (!(await buildService('dist'))) process.exit(1);`;
  execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: folder });
  return {
    main: join(folder, 'dist/main.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
