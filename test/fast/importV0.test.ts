// `parley import v0` with the real program, on both databases.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { databaseKinds } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { createSite, type Site } from '../support/process.ts';
import {
  fingerprintFolder,
  v0Secrets,
  v0Settings,
  writeJson,
  writeV0Conversation,
} from '../support/v0FileStore.ts';

const canary = (name: string) => `CANARY-${name}-5c1f`;

function writeRecords(folder: string): void {
  writeJson(join(folder, 'settings.json'), v0Settings(canary));
  writeJson(join(folder, 'secrets.json'), v0Secrets(canary));
}

async function importJson(site: Site, folder: string, ...more: string[]) {
  const { code, stdout, stderr } = await site.run(['import', 'v0', folder, '--json', ...more]);
  assert.ok(!`${stdout}${stderr}`.includes('CANARY'), 'no secret is printed');
  assert.match(stdout, /^\{.*\}\n$/, stderr);
  return { code, report: JSON.parse(stdout) };
}

for (const kind of databaseKinds) {
  describe(`parley import v0 on ${kind}`, () => {
    it('imports settings, secrets and conversations, which the service then shows', async (t) => {
      const site = await createSite(kind, t);
      const folder = site.createDir();
      writeRecords(folder);
      writeV0Conversation(
        join(folder, 'sessions/0123456789abcdef0123456789abcdef'),
        '0123456789abcdef0123456789abcdef',
      );
      const before = fingerprintFolder(folder);
      const { code, report } = await importJson(site, folder);
      assert.equal(code, 0);
      assert.equal(fingerprintFolder(folder), before, 'the source is unchanged');
      const [user] = report.users;
      assert.deepEqual(user.conversations, { found: 1, imported: 1, already_imported: 0, skipped: 0 });
      assert.deepEqual(user.events, { imported: 6, skipped: 0 });
      assert.deepEqual([user.provider_tokens, user.secrets], [['github', 'gitlab'], ['DEPLOY']]);
      assert.deepEqual(report.skipped, [
        { path: 'settings.json: condenser_max_size', reason: 'is not a setting of Parley' },
      ]);

      const service = await site.serve();
      const { body: settings } = await service.ask('/api/settings');
      assert.deepEqual(
        [settings.language, settings.max_iterations, settings.llm_api_key_set, settings.search_api_key_set],
        ['de', 77, true, true],
      );
      assert.deepEqual(settings.provider_tokens_set, { github: null, gitlab: 'git.example.com' });
      assert.deepEqual(settings.secrets_store.custom_secrets, { DEPLOY: { description: 'for deploys' } });
      assert.equal(settings.mcp_config.stdio_servers[0].env.TOKEN, '**********');

      const path = '/api/conversations/0123456789abcdef0123456789abcdef';
      const { body: info } = await service.ask(path);
      assert.equal(info.title, 'Title of 0123456789abcdef0123456789abcdef');
      assert.deepEqual([info.status, info.stop_reason.code], ['STOPPED', 'imported']);
      assert.deepEqual(
        [info.created_at, info.last_updated_at],
        ['2025-08-01T10:00:00.250Z', '2025-08-01T11:00:00.500Z'],
      );
      assert.deepEqual(
        [info.selected_repository, info.selected_branch, info.git_provider],
        ['acme/shop', 'main', 'github'],
      );
      assert.deepEqual(
        [
          info.usage.cost_usd,
          info.usage.input_tokens,
          info.usage.output_tokens,
          info.usage.cache_read_tokens,
        ],
        [0.25, 1200, 340, 7],
      );
      const { body: log } = await service.ask(`${path}/trajectory`);
      assert.deepEqual(
        log.trajectory.map(({ id }: { id: number }) => id),
        [0, 1, 2, 3, 4, 5],
      );
      const [, message, , run, result] = log.trajectory;
      assert.equal(message.args.content, 'Task of 0123456789abcdef0123456789abcdef');
      assert.equal(message.timestamp, '2025-08-01T10:00:01.123456Z');
      assert.deepEqual([run.tool_call_id, result.tool_call_id, result.cause], ['toolu_01', 'toolu_01', 3]);
      for (const table of ['settings', 'secrets', 'events', 'audit'])
        assert.ok(!JSON.stringify(await inspect(site.storage, `select * from ${table}`)).includes('CANARY'));
    });
  });
}
