// Plants secrets in a run: those that must not enter the sandbox are nowhere in it, and those that must are not in the
// log.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { assertWithout, descendants, filesBelow } from '../../test/support/canaries.ts';
import { commit, startGitServer } from '../../test/support/gitServer.ts';
import { startMcpServer } from '../../test/support/mcpServer.ts';
import { type Runs, startRuns } from '../../test/support/runs.ts';
import { ending } from '../../test/support/runTalk.ts';
import { noBubblewrap } from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';

/** Both of its ends are known again where it was cut. */
const canary = (name: string) => `HEAD-${name}-3b1f0c77d2-TAIL`;

/** Enter the sandbox. */
const inner = {
  ONE: canary('one'),
  LINES: `${canary('first-line')}\n${canary('second-line')}`,
  STDIO: canary('stdio'),
};

/** Stay outside. */
const outer = {
  model: canary('model'),
  git: canary('git'),
  mcp: canary('mcp'),
  session: canary('session'),
  /** 32 bytes in hex. */
  sealing: Buffer.from(canary('seal')).toString('hex').padEnd(64, '0').slice(0, 64),
};

/** The service has them in its environment, where a careless launch would take them from. */
function presetEnvironment(t: TestContext): Record<string, string> {
  const preset = { SESSION_API_KEY: outer.session, PARLEY_SECRET_KEY: outer.sealing };
  Object.assign(process.env, preset);
  t.after(() => {
    for (const name of Object.keys(preset)) delete process.env[name];
  });
  return preset;
}

async function startScene(t: TestContext, sandbox: 'process' | 'bubblewrap'): Promise<Runs> {
  const host = await startGitServer(t, { credential: `x-access-token:${outer.git}` });
  commit(host.repository('team/app'), 'main', { 'README.md': 'main\n' });
  const mcp = await startMcpServer(t, { form: 'json', key: outer.mcp });
  const mcp_config = {
    shttp_servers: [{ url: mcp.url, api_key: outer.mcp }],
    stdio_servers: [{ name: 'files', command: 'files-mcp', env: { STDIO: inner.STDIO } }],
  };
  const env = {
    ...presetEnvironment(t),
    PARLEY_GIT_HOSTS: `github=${host.url}`,
    PARLEY_ALLOW_PRIVATE_ADDRESSES: '1',
  };
  const settings = { llm_api_key: outer.model, llm_model: 'x/y', mcp_config };
  const runs = await startRuns({ sandbox, env, settings }, t);
  const { ask } = runs.service;
  await ask('/api/add-git-providers', { json: { provider_tokens: { github: { token: outer.git } } } });
  for (const name of ['ONE', 'LINES'] as const)
    assert.equal((await ask('/api/secrets', { json: { name, value: inner[name] } })).status, 201);
  return runs;
}

for (const sandbox of ['process', 'bubblewrap'] as const)
  describe(`the secrets of a run in ${sandbox}`, { skip: sandbox === 'bubblewrap' && noBubblewrap }, () => {
    it('are outside of it, except for those that must enter, and in no event, log line or argument', async (t) => {
      const runs = await startScene(t, sandbox);
      const id = await runs.create(
        [
          'env ONE',
          'mcp-tools 127_0_0_1',
          'really-run git fetch origin && printenv ONE LINES HTTPS_PROXY',
          'really-run env >all.txt',
          'hang',
        ].join('\n'),
        { repository: 'team/app' },
      );
      const isRun = ({ observation, extras }: { observation?: string; extras?: object }) =>
        observation === 'run' && JSON.stringify(extras).includes('all.txt');
      await until('the agent hangs', async () => (await runs.events(id)).some(isRun));

      // Programs of the service itself may have what it has; those of the sandbox are known by what must enter.
      const environments = descendants('environ').filter((text) => text.includes(inner.ONE));
      const [token = ''] = /pr_[\w-]{43}/.exec(environments.join('\n')) ?? [];
      assert.notEqual(token, '');
      for (const text of environments) assertWithout(Object.values(outer), 'environment', text);
      for (const text of descendants('cmdline'))
        assertWithout([...Object.values(outer), 'HEAD-', token], 'arguments', text);
      for (const file of filesBelow(runs.service.storage.dataDir))
        assertWithout(Object.values(outer), file, readFileSync(file));

      const log = JSON.stringify(await runs.events(id));
      assert.ok(log.includes('ONE=**********') && log.includes('"outcome":"completed"'), log);
      assert.match(log, /200 \{.*tools/, 'the tool server has answered');
      for (const [where, text] of [
        ['events', log],
        ['log', runs.service.logs()],
      ] as const)
        assertWithout([...Object.values(outer), 'HEAD-', '-TAIL', token], where, text);
    });
  });

describe('a secret that was stored while a run is active', () => {
  it('is masked from the next turn on', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create('say ready');
    await runs.turns(id, 1);
    const value = canary('late');
    const { status } = await runs.service.ask('/api/secrets', { json: { name: 'LATE', value } });
    assert.equal(status, 201);
    await runs.say(id, `say I was told ${value}.`);
    await runs.turns(id, 2);
    const ofAgent = JSON.stringify((await runs.events(id)).filter(({ source }) => source === 'agent'));
    assert.ok(ofAgent.includes('I was told **********.'));
    assertWithout(['HEAD-', '-TAIL'], 'events of the agent', ofAgent);
  });
});

describe('a secret that has entered a run', () => {
  it('is masked wherever the agent repeats it: in pieces, by lines, cut, in errors and in its last words', async (t) => {
    const runs = await startScene(t, 'process');
    const id = await runs.create(
      [
        'spell {env:ONE}',
        'mcp-env files',
        'think {env:ONE}',
        'plan {env:ONE};b',
        'ask execute {env:ONE}',
        `really-run printf '%s' "$LINES" | sed 's/^/  /'`,
        'really-run for i in $(seq 4000); do printf %s "$ONE"; done',
        'edit file.txt {env:ONE}',
        'unknown-update {env:ONE}',
        'error {env:ONE}',
      ].join('\n'),
    );
    await runs.turns(id, 1);
    await runs.say(id, `stderr ${'{env:ONE} '.repeat(100)}\nstderr {env:ONE}\nstderr {env:LINES}\ncrash`);
    const { code, message, events } = await ending(runs, id);
    assert.equal(code, 'agent_error');
    const kinds = new Set(events.flatMap(({ action, observation }) => [action, observation]));
    for (const kind of ['message', 'think', 'task_tracking', 'run', 'edit', 'agent_update', 'error'])
      assert.ok(kinds.has(kind), kind);
    const log = JSON.stringify(events);
    assert.ok(log.includes('STDIO=**********'));
    assertWithout(['HEAD-', '-TAIL'], 'events', log + message + runs.service.logs());
    assert.match(log, /Its last output:\\n\*{10}\\n\*{10}\\nfake agent/);
  });
});
