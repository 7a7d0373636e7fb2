// MCP servers in the settings: a form for each type, a check that connects, and the JSON editor.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../support/chromium.ts';
import { inspect } from '../support/inspect.ts';
import { startMcpServer } from '../support/mcpServer.ts';
import { startService } from '../support/service.ts';
import { enter, useBrowser } from './browser.ts';

const mask = '**********';
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

describe('MCP servers in the settings', { skip: noBrowser }, () => {
  const browser = useBrowser();

  async function open(t: TestContext, mcp_config: object | null = null) {
    const service = await startService({ env: { PARLEY_ALLOW_PRIVATE_ADDRESSES: '1' } }, t);
    await service.ask('/api/settings', { method: 'PATCH', json: { mcp_config } });
    const page = await browser.open(t, service.url);
    await enter(page, service, '/settings/tools');
    await page.getByRole('heading', { name: 'MCP servers' }).waitFor();
    const stored = async () => (await service.ask('/api/settings')).body.mcp_config;
    const ciphertext = () => inspect(service.storage, "select sealed from secrets where kind = 'mcp'");
    return { service, page, stored, ciphertext };
  }

  it('are added by a form, and checked before and after they are saved', async (t) => {
    const server = await startMcpServer(t, { form: 'json', tools: ['search', 'fetch'], key: 'k-1' });
    const { page, stored } = await open(t);
    await page.getByText('No MCP servers yet.').waitFor();
    await button(page, 'Add MCP server').click();
    await page.getByLabel('URL').fill(server.url);
    await button(page, 'Check').click();
    await page.getByText('Not reachable:').waitFor();
    await page.getByLabel('API key', { exact: true }).fill('k-1');
    await button(page, 'Check').click();
    await page.getByText('Reachable: 2 tools').waitFor();
    assert.equal(await stored(), null);
    await page.getByLabel('Timeout').fill('soon');
    await button(page, 'Save server').click();
    await page.getByText('must be a whole number or null').waitFor();
    await page.getByLabel('Timeout').fill('20');
    await button(page, 'Save server').click();
    await page.getByText('with API key').waitFor();
    assert.deepEqual((await stored()).shttp_servers, [{ url: server.url, api_key: mask, timeout: 20 }]);
    await button(page, `Check: ${server.url}`).click();
    await page.getByText('Reachable: 2 tools').waitFor();
    await page.getByText('search', { exact: true }).waitFor();

    await button(page, `Edit: ${server.url}`).click();
    await page.getByLabel('Timeout').fill('');
    await button(page, 'Save server').click();
    await page.getByLabel('Timeout').waitFor({ state: 'detached' });
    assert.deepEqual((await stored()).shttp_servers, [{ url: server.url, api_key: mask }]);
    assert.equal(await page.getByText('Reachable').count(), 0);
    await button(page, `Check: ${server.url}`).click();
    await page.getByText('Reachable: 2 tools').waitFor();
  });

  it('keep their API keys when other fields change, and lose them when the user removes them', async (t) => {
    const url = 'https://tools.example.com/sse';
    const { page, stored, ciphertext } = await open(t, {
      sse_servers: [{ url, api_key: 'k-1' }],
      stdio_servers: [{ name: 'files', command: 'npx', env: { TOKEN: 'x', OTHER: 'y' } }],
    });
    const before = await ciphertext();
    await button(page, 'Edit: files').click();
    assert.equal(await page.getByLabel('Value 1').inputValue(), '');
    await page.getByLabel('Arguments').fill('-y\nfiles-server --root .');
    await button(page, 'Remove: OTHER').click();
    // Browsers lack this function without https.
    await page.evaluate('delete Crypto.prototype.randomUUID');
    await button(page, 'Add variable').click();
    await page.keyboard.type('ROOT');
    await page.getByLabel('Value 2').fill('/workspace');
    await button(page, 'Save server').click();
    await page.getByText('npx -y files-server --root .').waitFor();
    const config = await stored();
    assert.deepEqual(config.stdio_servers, [
      {
        name: 'files',
        command: 'npx',
        args: ['-y', 'files-server --root .'],
        env: { ROOT: mask, TOKEN: mask },
      },
    ]);
    assert.deepEqual(config.sse_servers, [{ url, api_key: mask }]);
    assert.notDeepEqual(await ciphertext(), before);

    await button(page, `Edit: ${url}`).click();
    await page.getByLabel('URL').fill('https://other.example.com/sse');
    await button(page, 'Save server').click();
    await page.getByText('is masked, but no stored server matches it').waitFor();
    await button(page, 'Remove: API key').click();
    await button(page, 'Save server').click();
    await page.getByText('SSE', { exact: true }).waitFor();
    assert.deepEqual((await stored()).sse_servers, [{ url: 'https://other.example.com/sse', api_key: null }]);
  });

  it('of type stdio are not checked, and show errors at their fields', async (t) => {
    const { page, stored } = await open(t);
    await button(page, 'Add MCP server').click();
    await page.getByLabel('Type').selectOption('stdio');
    await page.getByLabel('Name').fill('my files');
    await page.getByLabel('Command', { exact: true }).fill('npx');
    await button(page, 'Save server').click();
    await page.getByText('must consist of letters').waitFor();
    await page.getByLabel('Name').fill('files');
    await button(page, 'Check').click();
    await page.getByText('Not checked:').waitFor();
    await button(page, 'Save server').click();
    await button(page, 'Edit: files').waitFor();
    assert.deepEqual((await stored()).stdio_servers, [{ name: 'files', command: 'npx', args: [], env: {} }]);
  });

  it('are checked all at once, and removed one by one', async (t) => {
    const good = await startMcpServer(t, { form: 'stream', tools: ['one'] });
    const old = await startMcpServer(t, { form: 'sse', tools: [] });
    const { page, stored } = await open(t, {
      shttp_servers: [good.url, 'http://127.0.0.1:1/mcp'],
      sse_servers: [`${old.url}/sse`],
    });
    await button(page, 'Check all').click();
    await page.getByText('Reachable: 1 tool').waitFor();
    await page.getByText('Not reachable:').waitFor();
    await button(page, `Remove: ${good.url}`).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.deepEqual((await stored()).shttp_servers, [{ url: 'http://127.0.0.1:1/mcp', api_key: null }]);
    assert.equal(await page.getByText('Reachable: 1 tool').count(), 0);
  });

  it('are changed and removed correctly even if others are added and removed meanwhile', async (t) => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => ({ url: `https://${name}.example.com/mcp` }));
    const { service, page, stored } = await open(t, { shttp_servers: [a, b, c] });
    const set = (shttp_servers: unknown[]) =>
      service.ask('/api/settings', { method: 'PATCH', json: { mcp_config: { shttp_servers } } });
    const confirm = () =>
      page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await button(page, `Edit: ${b?.url}`).click();
    await button(page, `Remove: ${a?.url}`).click();
    await confirm();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByLabel('Timeout').fill('20');
    await button(page, 'Save server').click();
    await page.getByLabel('Timeout').waitFor({ state: 'detached' });
    assert.deepEqual((await stored()).shttp_servers, [
      { ...b, api_key: null, timeout: 20 },
      { ...c, api_key: null },
    ]);

    await button(page, `Edit: ${c?.url}`).click();
    await set([d]);
    await page.reload();
    await page.getByText('If you save, it is added again.').waitFor();
    await button(page, 'Save server').click();
    await button(page, `Edit: ${c?.url}`).waitFor();
    assert.deepEqual((await stored()).shttp_servers, [
      { ...d, api_key: null },
      { ...c, api_key: null },
    ]);
  });

  it('are edited as JSON, in which masked keys keep their stored value', async (t) => {
    const url = 'https://tools.example.com/mcp';
    const { page, stored } = await open(t, { shttp_servers: [{ url, api_key: 'k-1' }] });
    await button(page, 'JSON').click();
    const text = page.getByLabel('MCP servers as JSON');
    const shown = JSON.parse(await text.inputValue());
    assert.deepEqual(shown.shttp_servers, [{ url, api_key: mask }]);
    await text.fill('{"shttp_servers": [');
    await button(page, 'Save').click();
    await page.getByText('This is not valid JSON').waitFor();
    await text.fill('{"shttp_servers": [{"url": "nowhere"}], "stdio": []}');
    await button(page, 'Save').click();
    await page.getByText('stdio is not a known field').waitFor();
    await text.fill(
      JSON.stringify({ shttp_servers: [{ url, api_key: mask }, 'https://new.example.com/mcp'] }),
    );
    await page.reload();
    await button(page, 'Save').click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    assert.deepEqual((await stored()).shttp_servers, [
      { url, api_key: mask },
      { url: 'https://new.example.com/mcp', api_key: null },
    ]);
    await text.fill('');
    await button(page, 'Form').click();
    await button(page, `Remove: ${url}`).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await button(page, 'JSON').click();
    await page.getByText('have changed since you started editing').waitFor();
    await button(page, 'Save').click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    assert.equal(await stored(), null);
    await text.fill(
      '{"mcpServers": {"docs": {"url": "https://docs.example.com", "headers": {"X-Key": "k"}}}}',
    );
    await button(page, 'Save').click();
    await page.getByText('mcpServers.docs.headers.X-Key is not supported here.').waitFor();
    await text.fill('{"mcpServers": {"docs": {"url": "https://docs.example.com/mcp"}}}');
    await button(page, 'Save').click();
    await page.getByText('Saved. Converted from mcpServers: docs.').waitFor();
    assert.deepEqual((await stored()).shttp_servers, [
      { url: 'https://docs.example.com/mcp', api_key: null },
    ]);
  });

  it('are not stored in the browser if their JSON has new keys', async (t) => {
    const { page } = await open(t);
    await button(page, 'JSON').click();
    await page
      .getByLabel('MCP servers as JSON')
      .fill('{"sse_servers": [{"url": "https://a.example.com", "api_key": "k-secret"}]}');
    assert.doesNotMatch(await page.evaluate<string>('JSON.stringify(sessionStorage)'), /k-secret/);
  });

  it('have a separate API key for web search', async (t) => {
    const { service, page } = await open(t);
    await page.getByLabel('Tavily API key').fill('tvly-1');
    await button(page, 'Save').click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    assert.equal((await service.ask('/api/settings')).body.search_api_key_set, true);
  });
});
