// Prints failures in full, a summary of passes, and the slowest tests at the end. Under `test/run.ts`, which has several
// processes, the end is left to that.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { type Results, slowestOf, summarize } from './results.ts';

interface Ended {
  readonly name: string;
  readonly nesting: number;
  readonly file?: string;
  readonly skip?: string | boolean;
  readonly details: { readonly duration_ms: number; readonly type?: string; readonly error?: unknown };
}

function describeFailure(ended: Ended): string {
  const error = ended.details.error as { cause?: unknown; message?: string } | undefined;
  const cause = error?.cause ?? error;
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  const extra = cause as { actual?: unknown; expected?: unknown } | undefined;
  const compared =
    extra?.actual === undefined
      ? ''
      : `\n  actual: ${inspect(extra.actual)}\n  expected: ${inspect(extra.expected)}`;
  return `\nFAILED ${ended.name} (${ended.file ?? ''})\n${text}${compared}\n`;
}

function inspect(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return text.slice(0, 2_000);
}

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const tests: Ended[] = [];
  const files = new Map<string, number>();
  let failed = 0;
  let skipped = 0;
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') {
      if (event.type === 'test:stderr' || event.type === 'test:stdout') yield event.data.message;
      continue;
    }
    const ended = event.data as unknown as Ended;
    const isSuite = ended.details.type === 'suite';
    if (ended.nesting === 0 && ended.file !== undefined) {
      const path = relative(process.cwd(), ended.file);
      files.set(path, (files.get(path) ?? 0) + ended.details.duration_ms);
    }
    if (event.type === 'test:fail') {
      failed += isSuite ? 0 : 1;
      yield describeFailure(ended);
    } else if (ended.skip) {
      // Tests of a skipped suite are not reported, so the suite counts instead.
      skipped += 1;
      yield `skipped: ${isSuite ? 'all of ' : ''}${ended.name} (${ended.skip})\n`;
    }
    if (!isSuite || ended.skip) tests.push(ended);
  }
  // A run without tests proves nothing.
  if (tests.length === 0) process.exitCode = 1;
  const results: Results = {
    passed: tests.length - failed - skipped,
    failed,
    skipped,
    slowest: slowestOf(tests.map(({ name, details }) => ({ name, ms: details.duration_ms }))),
    files: [...files].map(([name, ms]) => ({ name, ms })),
  };
  const file = process.env['PARLEY_TEST_RESULTS'];
  if (file === undefined) yield summarize([results]);
  else writeFileSync(file, JSON.stringify(results));
}
