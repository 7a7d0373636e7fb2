// openapi.json with the tools that people use on it: two linters, and two generators whose clients compile and work.
// The tools are installed in this folder, because the project itself needs none of them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installFolder } from '../support/npm.ts';
import { startService } from '../support/service.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const openapi = fileURLToPath(new URL('../../openapi.json', import.meta.url));
const generated = `${folder}client/generated`;
const toolMsMax = 5 * 60_000;
const outputBytesMax = 10_000_000;

/** Runs a program of a package in this folder. Returns its output, and rejects with it if the program fails. */
async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], {
      cwd: folder,
      env: { ...process.env, ...quiet, ...env },
      timeout: toolMsMax,
      maxBuffer: outputBytesMax,
    });
    return stdout;
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout?: string; stderr?: string };
    throw new Error([message, stdout, stderr].join('\n'), { cause: error });
  }
}

const tool = (name: string) => `node_modules/.bin/${name}`;
const skip = await installFolder(folder, 'ci');

describe('openapi.json', { skip }, () => {
  it('passes the recommended rules of Redocly without a warning', async () => {
    // It also exits with 0 if there are warnings.
    const report = await run(tool('redocly'), ['lint', openapi, '--config=redocly.yaml', '--format=json']);
    assert.deepEqual(JSON.parse(report).problems, []);
  });

  it('passes the OpenAPI rules of Spectral without a warning or a hint', async () => {
    await run(tool('spectral'), ['lint', openapi, '--ruleset=.spectral.yaml', '--fail-severity=hint']);
  });

  it('becomes clients that compile in strict mode and call the service', async (t) => {
    rmSync(generated, { recursive: true, force: true });
    await run(tool('openapi-typescript'), [openapi, `--output=${generated}/types.ts`]);
    await run(tool('openapi-ts'), ['--file=./openapi-ts.config.json', '--no-log-file']);
    await run(tool('tsc'), ['--project', 'client']);
    const { url, key } = await startService({}, t);
    await run('client/useHeyApi.ts', [], { PARLEY_URL: url, PARLEY_KEY: key });
  });
});
