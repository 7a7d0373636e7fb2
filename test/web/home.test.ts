// The home screen: starting and finding conversations.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noBrowser } from '../support/chromium.ts';
import { startRuns } from '../support/runs.ts';
import { startService } from '../support/service.ts';
import { enter, useBrowser } from './browser.ts';

/** A PNG of one pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

describe('the home screen', { skip: noBrowser }, () => {
  const browser = useBrowser();

  it('marks agents that are not installed, and says how to get them', async (t) => {
    const { service } = await startRuns({ settings: { agent: null } }, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    await page.getByRole('button', { name: 'More options' }).click();
    const field = page.getByLabel('Agent', { exact: true });
    await field.selectOption('kilo (not installed)');
    await page
      .getByText(
        'Kilo Code is not installed on the server. Its operator can install it with: parley agents install kilo',
      )
      .waitFor();
    await field.selectOption('absent');
    await page.getByText('absent is not installed on the server. Ask its operator to install it.').waitFor();
    await field.selectOption('fake');
    await page.getByText('For this conversation. Your settings stay as they are.').waitFor();
  });

  it('starts a conversation with all fields when the user presses Ctrl+Enter', async (t) => {
    const { service, events } = await startRuns({ settings: { agent: null } }, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    const message = page.getByLabel('Message to the agent');
    await message.fill('image-count\nmcp-servers');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: png });
    await page.getByRole('img', { name: 'a.png' }).waitFor();
    await page.getByRole('button', { name: 'More options' }).click();
    await page.getByLabel('Agent', { exact: true }).selectOption('fake');
    await page.getByLabel('Custom instructions').fill('Be brief.');
    await page.getByLabel('MCP servers').fill('{"shttp_servers": [}');
    await message.press('Control+Enter');
    await page.getByText('This is not valid JSON.').waitFor();
    await page.getByLabel('MCP servers').fill('{"shttp_servers": [{"url": "http://127.0.0.1:9/mcp"}]}');
    await message.press('Control+Enter');
    await page.waitForURL(/\/conversations\//);
    await page.getByText('1 images').waitFor();
    await page.getByRole('img', { name: 'Attached image 1' }).waitFor();
    const id = page.url().split('/').at(-1) ?? '';
    const [first] = await events(id);
    assert.match(JSON.stringify(first?.args?.['image_urls']), /^\["data:image\/png;base64,[^,]*"\]$/);
    assert.equal((await service.ask(`/api/conversations/${id}`)).body.agent, 'fake');
    assert.equal((await service.ask('/api/settings')).body.agent, null);
    await page.goBack();
    assert.equal(await message.inputValue(), '');
  });

  it('shows errors at their fields, and loses no text', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    await page.getByLabel('Message to the agent').fill('Hello');
    await page.getByRole('button', { name: 'More options' }).click();
    const servers = page.getByLabel('MCP servers');
    const repository = page.getByLabel('Repository', { exact: true });
    await repository.fill('not a repo!!');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('Enter owner/name').waitFor();
    await repository.and(page.locator(':focus')).waitFor();
    await repository.fill('');
    await servers.fill('{"stdio_servers": [{"name": "a b", "command": "x"}]}');
    await page.getByRole('button', { name: 'More options' }).click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    const error = page.getByText('stdio_servers[0].name');
    await error.waitFor();
    await servers.and(page.locator(':focus')).waitFor();
    assert.equal(await page.getByRole('alert').count(), 1);
    assert.equal(await page.getByLabel('Message to the agent').inputValue(), 'Hello');
    await servers.fill('{}');
    await error.waitFor({ state: 'detached' });
  });

  it('takes a model for one conversation, and says which key is missing for another', async (t) => {
    const service = await startService({}, t);
    await service.ask('/api/settings', { json: { llm_model: 'openai/gpt-5' } });
    const page = await browser.open(t, service.url);
    await enter(page, service);
    await page.getByLabel('Message to the agent').fill('Hello');
    await page.getByRole('button', { name: 'More options' }).click();
    const model = page.getByLabel('Model', { exact: true });
    assert.equal(await model.getAttribute('placeholder'), 'openai/gpt-5');
    await model.fill('xai/grok-4');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('No API key of xai is stored.').waitFor();
    await model.and(page.locator(':focus')).waitFor();
    await model.fill('ollama/qwen3');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL(/\/conversations\//);
    const id = page.url().split('/').at(-1) ?? '';
    assert.equal((await service.ask(`/api/conversations/${id}`)).body.llm_model, 'ollama/qwen3');
    assert.equal((await service.ask('/api/settings')).body.llm_model, 'openai/gpt-5');
  });

  it('says that the model has no API key, until one is stored', async (t) => {
    const service = await startService({}, t);
    await service.ask('/api/settings', { json: { llm_model: 'xai/grok-4' } });
    const page = await browser.open(t, service.url);
    await enter(page, service);
    const hint = page.getByText('Your model xai/grok-4 needs an API key of xai.');
    await hint.waitFor();
    await page.getByRole('button', { name: 'More options' }).click();
    const model = page.getByLabel('Model', { exact: true });
    await model.fill('mistral/devstral-medium');
    await page.getByText('No API key of mistral is stored. You can store it in the settings.').waitFor();
    await model.fill('ollama/qwen3');
    await page.getByText('No API key of mistral').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Store the API key' }).click();
    await page.getByRole('button', { name: 'Add: xai' }).click();
    await page.locator('.entry-form').getByLabel('API key', { exact: true }).fill('sk-mine');
    await page.getByRole('button', { name: 'Save key' }).click();
    await page.getByText('A key is stored.').waitFor();
    await page.getByRole('link', { name: 'New conversation' }).click();
    await page.getByLabel('Message to the agent').waitFor();
    await hint.waitFor({ state: 'detached' });
  });

  it('accepts images by paste and drop, and no other files', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    const transfer = (type: string) =>
      page.evaluateHandle(
        `(() => { const data = new DataTransfer(); data.items.add(new File([Uint8Array.from(atob('${png.toString('base64')}'), (c) => c.charCodeAt(0))], 'shot.png', { type: '${type}' })); return data; })()`,
      );
    const box = page.getByLabel('Message to the agent');
    await box.dispatchEvent('drop', { dataTransfer: await transfer('text/plain') });
    await page.getByText('Only images can be attached.').waitFor();
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'fake.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await page.getByText('An image could not be read').waitFor();
    await box.dispatchEvent('drop', { dataTransfer: await transfer('image/png') });
    await page.getByRole('button', { name: 'shot.png', exact: true }).click();
    await page.getByRole('dialog', { name: 'shot.png' }).getByRole('img').waitFor();
    await page.keyboard.press('Escape');
    // The browser does not open a file that is dropped outside of the box.
    await page.evaluate(
      `addEventListener('drop', (event) => { window.prevented = event.defaultPrevented; })`,
    );
    await page
      .getByRole('heading', { level: 1 })
      .dispatchEvent('drop', { dataTransfer: await transfer('image/png') });
    assert.equal(await page.evaluate('window.prevented'), true);
    await page.getByRole('button', { name: 'Remove shot.png' }).click();
    assert.equal(await page.getByRole('img', { name: 'shot.png' }).count(), 0);
    // A drag event that a script creates has no files.
    await page.evaluate(([data, box]) => Object.defineProperty(box as object, 'pasted', { value: data }), [
      await transfer('image/png'),
      await box.elementHandle(),
    ] as const);
    await page.evaluate(
      `document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', { clipboardData: document.querySelector('textarea').pasted, bubbles: true, cancelable: true }))`,
    );
    await page.getByRole('img', { name: 'shot.png' }).waitFor();
  });

  it('keeps text over a reload, except keys', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    const message = page.getByLabel('Message to the agent');
    await message.fill('A long\nstory');
    await page.getByLabel('Repository', { exact: true }).fill('acme/shop');
    await page.getByRole('button', { name: 'More options' }).click();
    const servers = page.getByLabel('MCP servers');
    await servers.fill('{"sse_servers": [{"url": "https://a.example", "api_key": "canary-5d1f"}]}');
    assert.doesNotMatch(await page.evaluate<string>('JSON.stringify(sessionStorage)'), /canary/);
    await page.reload();
    await message.and(page.locator(':focus')).waitFor();
    assert.equal(await message.inputValue(), 'A long\nstory');
    assert.equal(await page.getByLabel('Repository', { exact: true }).inputValue(), 'acme/shop');
    assert.equal(await servers.inputValue(), '');
  });

  it('keeps text that is typed while a request is in progress, and does not navigate if the user has left', async (t) => {
    const service = await startService({}, t);
    const page = await browser.open(t, service.url);
    await enter(page, service);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/api/conversations', async (route) => {
      if (route.request().method() === 'POST') await released;
      await route.continue();
    });
    const message = page.getByLabel('Message to the agent');
    await message.fill('The first');
    await message.press('Control+Enter');
    await page.getByRole('button', { name: 'Starting…' }).waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    await page.keyboard.press('n');
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('The second');
    release();
    await page.locator('.rows').getByText('The first').waitFor();
    assert.equal(page.url(), `${service.url}/new`);
    assert.equal(await message.inputValue(), 'The second');
  });
});
