// docs/api.md shows what the service really returns: its commands are run by a shell, and each answer has the shape
// that the page shows below them or behind them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { listenAsProvider, providerToken } from '../support/gitProvider.ts';
import { startService, type TestService } from '../support/service.ts';

const run = promisify(execFile);
const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');

interface Example {
  readonly command: string;
  /** As text; undefined where the page shows none. */
  readonly shown: string | undefined;
}

/** Values that stand one after the other: a line that goes on with one is indented. */
function splitValues(text: string): string[] {
  return text.trim().split(/\n(?!\s)/);
}

function splitCommands(block: string): Example[] {
  return block
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.startsWith('curl'))
    .map((line) => {
      const [, command = line, shown] = /^(.*?)\s+# (?:[^{["]*?)([{[].*)$/.exec(line) ?? [];
      return { command: command.replace(/\s+# .*$/, ''), shown };
    });
}

/** The commands of the page in its order, each with what is shown of its answer. */
function readExamples(): Example[] {
  const blocks = [...page.matchAll(/```sh\n(.*?)```\n(?:\n?```json\n(.*?)```)?/gs)];
  return blocks.flatMap(([, commands = '', answers]) => {
    const examples = splitCommands(commands);
    const shown = answers === undefined ? [] : splitValues(answers);
    const unshown = examples.filter((example) => example.shown === undefined);
    for (const [i, value] of shown.entries()) {
      const example = unshown[i];
      if (example !== undefined) examples[examples.indexOf(example)] = { ...example, shown: value };
    }
    return examples;
  });
}

/** What is left out on the page is not compared. */
const leftOut = '…';

function parseShown(text: string): unknown {
  const whole = text
    .replaceAll(/,?…([}\]])/g, `,"${leftOut}"$1`)
    .replaceAll(/([{[]),/g, '$1')
    .replaceAll(`{"${leftOut}"}`, `{"${leftOut}":0}`)
    .replaceAll(new RegExp(`,"${leftOut}"}`, 'g'), `,"${leftOut}":0}`);
  return JSON.parse(whole);
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value;
}

/** Where the real answer differs from what is shown. */
function differences(shown: unknown, real: unknown, place: string): string[] {
  if (shown === leftOut) return [];
  if (kindOf(real) !== kindOf(shown)) return [`${place} is ${kindOf(real)}, not ${kindOf(shown)}`];
  if (Array.isArray(shown) && Array.isArray(real))
    return shown.length > 0 && real.length > 0 ? differences(shown[0], real[0], `${place}[0]`) : [];
  if (typeof shown !== 'object' || shown === null) return [];
  const names = Object.keys(shown).filter((name) => name !== leftOut);
  const found = Object.keys(real as object).filter((name) => !(leftOut in shown) || names.includes(name));
  if (found.join() !== names.join()) return [`${place} has ${found.join()}, not ${names.join()}`];
  return names.flatMap((name) =>
    differences((shown as never)[name], (real as never)[name], `${place}.${name}`),
  );
}

/** Needs an agent that runs, a sign-in provider, or an id that only the answer before tells. */
const notHere =
  /\/(?:git\/|(?:list-files|select-file|zip-directory|confirm)\b|nightly-1\/microagents)|wh_|stream|-N |POST \$url\/sign-in|868aa1c134552067/;

describe('docs/api.md', () => {
  let service: TestService;
  let closeProvider = async () => {};
  before(async () => {
    const until = {
      after: (close: () => Promise<void>) => {
        closeProvider = close;
      },
    };
    const { url } = await listenAsProvider(until, 'github');
    const env = { PARLEY_ALLOW_PRIVATE_ADDRESSES: '1', PARLEY_GIT_HOSTS: `github=${url}` };
    service = await startService({ env });
  });
  after(async () => {
    await service.stop();
    await closeProvider();
  });

  it('shows answers in the shape in which they come', async () => {
    const { url, key } = service;
    const examples = readExamples().filter(({ command }) => !notHere.test(command));
    assert.ok(examples.length > 35, String(examples.length));
    const env = {
      ...process.env,
      url: `${url}/api`,
      key: `X-Session-API-Key: ${key}`,
      json: 'Content-Type: application/json',
    };
    const cwd = service.storage.dataDir;
    for (const name of ['report.pdf', 'data.csv']) writeFileSync(join(cwd, name), name);
    const faults: string[] = [];
    let compared = 0;
    for (const { command, shown } of examples) {
      const script = command
        .replaceAll('http://127.0.0.1:3000', url)
        .replace(/ > \S+$/, '')
        .replace(/^curl/, 'curl -sS');
      const { stdout } = await run('bash', ['-c', script], { env, cwd });
      // The examples after this one go on with it.
      if (/-X DELETE \$url\/conversations\/nightly-1/.test(command))
        await service.ask('/api/conversations', { json: { conversation_id: 'nightly-1' } });
      if (command.includes('/unset-provider-tokens'))
        await service.ask('/api/add-git-providers', {
          json: { provider_tokens: { github: { token: providerToken } } },
        });
      if (/"code":"(?:invalid|not_found|unauthorized|malformed\w*)"/.test(stdout))
        faults.push(`${command}: ${stdout}`);
      else if (shown !== undefined) {
        compared += 1;
        faults.push(...differences(parseShown(shown), JSON.parse(stdout), command));
      }
    }
    assert.deepEqual(faults, []);
    assert.ok(compared > 15, String(compared));
  });
});
