import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  type FakeAgent,
  initializeMs,
  lines,
  openFakeAgent,
  openFakeAgentSandbox,
  textOf,
} from '../../../test/support/fakeAgent.ts';
import { until, watch } from '../../../test/support/until.ts';
import { type AgentOptions, openAgent, type SessionOptions } from './agent.ts';
import { AgentError } from './errors.ts';
import { messageBytesMax } from './peer.ts';

type Chosen = Partial<Omit<AgentOptions, 'program'>> & { readonly flags?: readonly string[] };

async function start(t: TestContext, chosen?: Chosen): Promise<FakeAgent> {
  return openFakeAgent(await openFakeAgentSandbox(t), chosen);
}

async function startSession(t: TestContext, chosen?: Chosen, session?: Partial<SessionOptions>) {
  const fake = await start(t, chosen);
  await fake.agent.openSession({ mcpServers: [], ...session });
  return fake;
}

async function errorOf(promise: Promise<unknown>): Promise<AgentError> {
  const error = await promise.then(
    () => assert.fail('it did not reject'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof AgentError, String(error));
  return error;
}

describe('opening an agent', () => {
  it('returns its capabilities', async (t) => {
    const { agent } = await start(t);
    assert.equal(agent.capabilities.loadSession, true);
    assert.deepEqual(agent.capabilities.mcpCapabilities, { http: true, sse: true });
  });

  it('fails and kills the program if it never answers', async (t) => {
    const sandbox = await openFakeAgentSandbox(t);
    const opening = openFakeAgent(sandbox, { flags: ['--never-initialize'], initializeMs: 50 });
    const error = await errorOf(opening);
    assert.deepEqual(
      [error.code, error.message],
      ['too_slow', 'The agent did not answer initialize within 0.05 s.'],
    );
  });

  it('waits for an agent that starts slowly', async (t) => {
    const { agent } = await start(t, { flags: ['--slow-start', '300'] });
    assert.equal((await agent.openSession({ mcpServers: [] })).how, 'new');
  });

  it('reports the exit code and the last output of an agent that ends at once', async (t) => {
    const error = await errorOf(start(t, { flags: ['--crash-on-start'] }));
    assert.deepEqual(
      [error.code, error.message, error.details],
      ['exited', 'The agent ended with exit code 1.', 'fake agent: told to crash at the start'],
    );
  });

  it('refuses an agent that speaks another version', async (t) => {
    const error = await errorOf(start(t, { flags: ['--protocol', '2'] }));
    assert.equal(error.code, 'protocol');
    assert.match(error.message, /speaks version 2 of its protocol/);
  });

  it('logs in if an authentication method is given, and reports that it is missing otherwise', async (t) => {
    const { agent } = await start(t, { flags: ['--auth', 'key'], authMethod: 'key' });
    assert.equal((await agent.openSession({ mcpServers: [] })).how, 'new');
    const { agent: other } = await start(t, { flags: ['--auth', 'key'] });
    const error = await errorOf(other.openSession({ mcpServers: [] }));
    assert.deepEqual(
      [error.code, error.message],
      ['auth_needed', 'The agent requires a login: Authentication required'],
    );
  });
});

describe('a session', () => {
  it('uses the requested mode, and fails if it does not exist', async (t) => {
    const flags = ['--modes', 'careful,free'];
    const { agent, said } = await startSession(t, { flags }, { modeId: 'free' });
    await agent.prompt(lines('mode'));
    assert.equal(said(), 'mode free');
    const { agent: other } = await start(t, { flags });
    const error = await errorOf(other.openSession({ mcpServers: [], modeId: 'wild' }));
    assert.equal(error.message, 'The agent has no mode wild; it has careful, free.');
  });

  it('passes on the MCP servers', async (t) => {
    const { agent, said } = await startSession(
      t,
      {},
      {
        mcpServers: [
          { name: 'files', command: 'serve', args: ['-v'], env: [{ name: 'KEY', value: 'hidden' }] },
          {
            type: 'http',
            name: 'web',
            url: 'http://127.0.0.1:1/mcp/0',
            headers: [{ name: 'Authorization', value: 'hidden' }],
          },
        ],
      },
    );
    await agent.prompt(lines('mcp-servers'));
    assert.equal(
      said(),
      'files stdio serve -v env:KEY\nweb http http://127.0.0.1:1/mcp/0 headers:Authorization',
    );
  });

  for (const { flags, how } of [
    { flags: [], how: 'resumed' },
    { flags: ['--no-resume'], how: 'loaded' },
  ] as const)
    it(`is continued after a kill, ${how}, and reports nothing twice`, async (t) => {
      const sandbox = await openFakeAgentSandbox(t);
      const first = await openFakeAgent(sandbox);
      const { sessionId } = await first.agent.openSession({ mcpServers: [] });
      await first.agent.prompt(lines('remember plum', 'say Hello'));
      await first.program.kill();
      const second = await openFakeAgent(sandbox, { flags });
      const opened = await second.agent.openSession({ mcpServers: [], resume: sessionId });
      assert.deepEqual(opened, { sessionId, how, recordedTurn: undefined });
      await second.agent.prompt(lines('recall'));
      assert.equal(second.said(), 'I remember plum');
    });

  it('is new if the agent cannot resume the old one, or does not know it', async (t) => {
    for (const flags of [['--no-load'], []]) {
      const { agent } = await start(t, { flags });
      const opened = await agent.openSession({ mcpServers: [], resume: 'gone' });
      assert.equal(opened.how, 'new');
      assert.notEqual(opened.sessionId, 'gone');
    }
  });
});

describe('a turn', () => {
  it('ends after its last update was handled, each in order', async (t) => {
    const seen: string[] = [];
    const { agent } = await startSession(t, {
      onUpdate: async (update) => {
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(textOf([update]));
      },
    });
    const end = await agent.prompt(lines(...Array.from({ length: 30 }, (_, i) => `say ${i}`)));
    assert.deepEqual(end, { stopReason: 'end_turn' });
    assert.deepEqual(
      seen,
      Array.from({ length: 30 }, (_, i) => String(i)),
    );
  });

  it('passes on unknown updates unchanged', async (t) => {
    const { agent, updates } = await startSession(t);
    await agent.prompt(lines('unknown-update hello'));
    assert.deepEqual(updates, [{ sessionUpdate: 'from_the_future', note: 'hello' }]);
  });

  it('reports a refusal, and the message of an error', async (t) => {
    const { agent } = await startSession(t);
    assert.equal((await agent.prompt(lines('refuse'))).stopReason, 'refusal');
    const error = await errorOf(agent.prompt(lines('error The model is away')));
    assert.deepEqual(
      [error.code, error.message],
      ['refused', 'The agent refused the message: The model is away'],
    );
    assert.equal((await agent.prompt(lines('say still here'))).stopReason, 'end_turn');
  });

  it('is cancelled', async (t) => {
    const { agent, said } = await startSession(t);
    const turn = watch(agent.prompt(lines('say begun', 'hang')));
    await until('the turn', () => said() === 'begun');
    assert.equal(turn.settled(), false);
    await agent.cancel();
    assert.equal((await turn.promise).stopReason, 'cancelled');
  });

  it('continues if the agent ignores a cancellation, until the program is killed', async (t) => {
    const { agent, program, said } = await startSession(t);
    const turn = agent.prompt(lines('say begun', 'ignore-cancel'));
    await until('the turn', () => said() === 'begun');
    await agent.cancel();
    await program.kill();
    assert.equal((await errorOf(turn)).message, 'The agent was ended by SIGKILL.');
    assert.equal((await agent.closed).code, 'exited');
  });

  it('ignores lines that are not messages, and reports them once', async (t) => {
    const { agent, notices, said } = await startSession(t);
    await agent.prompt(lines('garbage', 'garbage', 'say fine'));
    assert.equal(said(), 'fine');
    assert.deepEqual(notices, ['The agent wrote lines that are not messages. They are ignored.']);
  });

  it('offers the agent no access to files', async (t) => {
    const { agent, said } = await startSession(t);
    await agent.prompt(lines('call fs/read_text_file', 'call terminal/create', 'call _made/up'));
    assert.equal(said(), 'refused -32601'.repeat(3));
  });
});

describe('an approval request of an agent', () => {
  it('gets the chosen answer', async (t) => {
    const { agent, said } = await startSession(t, {
      onPermission: async ({ toolCall, options }) => {
        assert.equal(toolCall['title'], 'delete everything');
        assert.deepEqual(
          options.map(({ kind }) => kind),
          ['allow_always', 'allow_once', 'reject_once'],
        );
        return { optionId: 'no' };
      },
    });
    await agent.prompt(lines('ask delete everything'));
    assert.equal(said(), 'the answer was no');
  });

  it('is cancelled with the turn', async (t) => {
    const asked = Promise.withResolvers<AbortSignal>();
    const { agent, said } = await startSession(t, {
      onPermission: (_, signal) => {
        asked.resolve(signal);
        return new Promise(() => {});
      },
    });
    const turn = agent.prompt(lines('ask delete everything'));
    const signal = await asked.promise;
    await agent.cancel();
    assert.equal((await turn).stopReason, 'cancelled');
    assert.equal(signal.aborted, true);
    assert.equal(said(), 'the answer was cancelled');
  });
});

describe('an agent that dies', () => {
  it('fails the turn with its exit code and its last output, bounded', async (t) => {
    const { agent } = await startSession(t);
    const error = await errorOf(
      agent.prompt(lines(`stderr ${'x'.repeat(5_000)}`, `stderr ${'y'.repeat(1_000)}`, 'crash')),
    );
    assert.equal(error.message, 'The agent ended with exit code 1.');
    assert.match(error.details, /^y{1000}\nfake agent: told to crash$/);
    assert.equal(await agent.closed, error);
  });

  it('is reported with its signal', async (t) => {
    const { agent } = await startSession(t);
    const error = await errorOf(agent.prompt(lines('kill-self')));
    assert.equal(error.message, 'The agent was ended by SIGKILL.');
  });

  it('cancels its approval requests, and accepts no more', async (t) => {
    const asked = Promise.withResolvers<AbortSignal>();
    const { agent, program } = await startSession(t, {
      onPermission: (_, signal) => {
        asked.resolve(signal);
        return new Promise(() => {});
      },
    });
    const turn = watch(agent.prompt(lines('ask delete everything')));
    const signal = await asked.promise;
    await program.kill();
    await agent.closed;
    assert.equal(signal.aborted, true);
    await errorOf(turn.promise);
    assert.equal((await errorOf(agent.prompt(lines('say hi')))).code, 'exited');
    await agent.cancel();
  });

  it('may die at any step without an unhandled rejection', async (t) => {
    for (const delayMs of [0, 20, 80, 160]) {
      const sandbox = await openFakeAgentSandbox(t);
      const program = await sandbox.start();
      const timer = setTimeout(() => void program.kill(), delayMs);
      t.after(() => clearTimeout(timer));
      const flow = async () => {
        const agent = await openAgent({
          program,
          cwd: sandbox.workspace,
          initializeMs,
          onUpdate: () => {},
          onPermission: async () => 'cancelled',
        });
        await agent.openSession({ mcpServers: [] });
        await agent.prompt(lines('hang'));
      };
      assert.equal((await errorOf(flow())).code, 'exited');
    }
  });

  it('leaves nothing behind', async (t) => {
    const sandbox = await openFakeAgentSandbox(t);
    const { agent } = await openFakeAgent(sandbox);
    await agent.openSession({ mcpServers: [] });
    await agent.prompt(lines('spawn-child'));
    const child = Number(readFileSync(join(sandbox.home, 'child.pid'), 'utf8'));
    await errorOf(agent.prompt(lines('crash')));
    await until('the end of the child', () => !isAlive(child));
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('an agent that sends too much', () => {
  it('has to wait while its updates are not handled', async (t) => {
    let taken = 0;
    const gate = Promise.withResolvers<void>();
    const { agent, program } = await startSession(t, {
      onUpdate: async () => {
        taken += 1;
        if (taken === 1) await gate.promise;
      },
    });
    const turn = watch(agent.prompt(lines('flood 200 65536')));
    const { stdout } = program;
    await until('a full pipe', () => stdout.readableLength >= stdout.readableHighWaterMark);
    assert.equal(taken, 1);
    assert.ok(stdout.readableLength < 1024 * 1024, `${stdout.readableLength} bytes held`);
    gate.resolve();
    assert.equal((await turn.promise).stopReason, 'end_turn');
    assert.equal(taken, 200);
  });

  it('is ended after a message that is too large', async (t) => {
    const { agent } = await startSession(t);
    const error = await errorOf(agent.prompt(lines(`huge ${messageBytesMax}`)));
    assert.deepEqual(
      [error.code, error.message],
      ['protocol', 'The agent sent a message of more than 16 MiB.'],
    );
    assert.equal(await agent.closed, error);
  });

  it('is ended after too many concurrent approval requests', async (t) => {
    const { agent } = await startSession(t, { onPermission: () => new Promise(() => {}) });
    const error = await errorOf(agent.prompt(lines('ask-many 65')));
    assert.equal(error.message, 'The agent sent more than 64 requests at once.');
    const { agent: other } = await startSession(t, { onPermission: async () => 'cancelled' });
    assert.equal((await other.prompt(lines('ask-many 64'))).stopReason, 'end_turn');
  });

  it('is ended if its updates cannot be recorded', async (t) => {
    const cause = new Error('the database is away');
    const { agent } = await startSession(t, {
      onUpdate: async () => {
        throw cause;
      },
    });
    const error = await errorOf(agent.prompt(lines('say hello', 'hang')));
    assert.deepEqual([error.code, error.cause], ['consumer', cause]);
    await agent.closed;
  });
});
