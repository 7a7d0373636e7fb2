// The screen of a conversation, with the fake agent.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { noBrowser } from '../support/chromium.ts';
import { startRuns } from '../support/runs.ts';
import { approvalRequest } from '../support/runTalk.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { faultsOf } from './axe.ts';
import { enter, useBrowser } from './browser.ts';

const path = (id: string) => `/conversations/${id}`;

describe('a conversation', { skip: noBrowser }, () => {
  const browser = useBrowser();

  it('shows the actions of the agent live', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create(
      [
        'think It must be the parser.',
        'plan Find the cause;Mend it',
        'run echo one',
        'edit a.txt hello',
        'mcp docs search',
        'say It **works** now, see [this](https://example.com), [that](/#key=pk_1_a) and ![a picture](https://example.com/a.png).',
        `say ${'> '.repeat(2_000)}too deep`,
        'usage 100 200000 0.5',
      ].join('\n'),
    );
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    const log = page.getByRole('log');
    await log.getByText('It works now').waitFor();
    assert.equal(await log.locator('.prose strong').textContent(), 'works');
    // Text that takes too long to parse is shown as plain text, and links into the web UI are removed.
    await log.locator('.plain-text', { hasText: 'too deep' }).waitFor();
    assert.equal(await log.getByRole('link', { name: 'that' }).count(), 0);
    const link = log.getByRole('link', { name: 'this', exact: true });
    assert.equal(await link.getAttribute('rel'), 'noreferrer noopener');
    assert.equal(
      await log.getByRole('link', { name: 'a picture' }).getAttribute('href'),
      'https://example.com/a.png',
    );
    await log.getByRole('button', { name: /^Changed 1 file, ran 1 command, made 1 tool call/ }).click();
    await log.getByText('echo one', { exact: true }).waitFor();
    await log.getByText('+hello').waitFor();
    await log.getByText('docs/search').click();
    await log.getByText('search of docs answered').waitFor();
    await log.locator('summary', { hasText: 'Thought' }).click();
    await log.locator('.thought .prose').getByText('It must be the parser.').waitFor();
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByText('Find the cause').waitFor();
    await details.getByText('100 of 200K tokens').waitFor();
    await page.locator('.badge', { hasText: 'Waiting for input' }).waitFor();

    await details.getByRole('button', { name: /a\.txt/ }).click();
    const review = page.getByRole('dialog', { name: 'Changes' });
    await review.getByRole('region', { name: 'Changes to a.txt' }).getByText('+hello').waitFor();
    await page.keyboard.press('Escape');

    // On a phone the details cover the timeline, and close when a message is sent.
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByLabel('Message', { exact: true }).fill('say And now this.');
    await page.getByLabel('Message', { exact: true }).press('Control+Enter');
    await log.getByText('And now this.', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), '');
    assert.equal(await details.count(), 0);
  });

  it('uploads attached files, and tells the agent of those that are not removed', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create('say hello');
    await runs.turns(id, 1);
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    const attach = page.locator('input[type="file"]').nth(1);
    const file = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) });
    await attach.setInputFiles([file('notes.txt'), file('other.txt')]);
    await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor();
    await page.getByRole('button', { name: 'Remove other.txt' }).click();
    await attach.setInputFiles([file(' spaces .txt ')]);
    await page.getByRole('alert').getByText('was not uploaded').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    const box = page.getByLabel('Message', { exact: true });
    await box.fill('Read it.');
    await box.press('Control+Enter');
    const log = page.getByRole('log');
    await log.getByRole('list', { name: 'Attached files' }).getByText('/workspace/notes.txt').waitFor();
    const said = (await runs.turns(id, 2)).at(-1) ?? '';
    assert.match(said, /Read it\.\s+\[The user attached these files:\]\s+- \S*notes\.txt$/);
    assert.equal(await page.getByRole('button', { name: /^Remove/ }).count(), 0);
  });

  it('asks for approval, announces that to screen readers, and forwards each answer', async (t) => {
    const runs = await startRuns({ settings: { confirmation_mode: true } }, t);
    const id = await runs.create('ask execute one\nask execute two\nask execute three');
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    const log = page.getByRole('log');
    await page.locator('.badge').getByText('Needs approval', { exact: true }).waitFor();
    await page
      .getByRole('status')
      .getByText(/^The agent needs your approval: .*one/)
      .waitFor();
    await log.getByText('This action can change anything in the sandbox.').waitFor();
    await log.getByRole('button', { name: 'Approve', exact: true }).click();
    await log.getByText('You approved this action.', { exact: true }).waitFor();
    await log.and(page.locator(':focus')).waitFor();
    await log.getByRole('button', { name: 'Reject' }).waitFor();
    assert.match(await page.title(), /^● /);
    // Shortcuts work only after a moment, so that a second press does not answer the next request.
    const rejected = log.getByText('You rejected this action.');
    await until('it is rejected', async () => {
      await page.keyboard.press('r');
      return rejected.isVisible();
    });
    await log.getByRole('button', { name: 'Always approve this' }).click();
    await log.getByText('You approved this for the whole conversation.').waitFor();
    const replies = await runs.turns(id, 1);
    assert.match(replies.join('\n'), /once.*no.*always/s);
    assert.equal(await log.getByRole('button', { name: 'Approve', exact: true }).count(), 0);
  });

  it('shows an approval request from its top, and can be approved only after all of it was on the screen', async (t) => {
    const runs = await startRuns({ settings: { confirmation_mode: true } }, t);
    const hidden = { command: `touch evil${'\n'.repeat(121)}echo harmless${' '.repeat(400)}; rm b` };
    const tall = {
      command: ['touch evil', ...Array.from({ length: 120 }, (_, i) => `echo ${i}`)].join('\n'),
    };
    const before = Array.from({ length: 30 }, (_, i) => `say line ${i}`);
    const requests = [hidden, tall, tall].map((input) => `ask-input ${JSON.stringify(input)}`);
    const id = await runs.create([...before, ...requests].join('\n'));
    await approvalRequest(runs, id);
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    const log = page.getByRole('log');
    const approve = log.getByRole('button', { name: 'Approve', exact: true });
    const firstLine = log.locator('.call.needs-approval').getByText('touch evil');
    const hint = log.getByText('Scroll through the whole request before you approve it.');
    const isTopInView = `(() => {
      const call = document.querySelector('.call.needs-approval');
      if (call === null) return false;
      const { top } = call.getBoundingClientRect();
      const view = document.querySelector('.scroller').getBoundingClientRect();
      return top >= view.top && top < view.bottom;
    })()`;

    await log.getByText('⟨120 empty lines⟩').waitFor();
    await log.getByText('⟨400 spaces⟩').waitFor();
    await until('the top of the first request is shown', () => page.evaluate<boolean>(isTopInView));
    await log.locator('[aria-disabled=false]').and(approve).click();

    await approvalRequest(runs, id, 2);
    await firstLine.waitFor();
    await until('the top of the second request is shown', () => page.evaluate<boolean>(isTopInView));
    await hint.waitFor();
    assert.equal(await approve.getAttribute('aria-disabled'), 'true');
    // Its middle has not been on the screen yet.
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    // The button has aria-disabled, which Playwright would wait for.
    await approve.click({ force: true });
    const isButtonInView = `document.querySelector('.approval-request').getBoundingClientRect().bottom
      <= document.querySelector('.scroller').getBoundingClientRect().bottom`;
    await until(
      'the part that was not on the screen is shown',
      async () => !(await page.evaluate(isButtonInView)),
    );
    assert.equal(await approve.getAttribute('aria-disabled'), 'true');
    await page.reload();
    await firstLine.waitFor();
    await until('the top is shown after a reload', () => page.evaluate<boolean>(isTopInView));
    await log.hover();
    await until('all of it was on the screen', async () => {
      await page.mouse.wheel(0, 300);
      return (await hint.count()) === 0;
    });
    await approve.click();

    await approvalRequest(runs, id, 3);
    await until('the top of the third request is shown', () => page.evaluate<boolean>(isTopInView));
    // Each press shows the next part, and the last one approves.
    const approved = log.getByText('You approved this action.');
    let presses = 0;
    await until('the shortcut has approved it', async () => {
      await page.keyboard.press('a');
      presses++;
      return (await approved.count()) > 0 && (await approve.count()) === 0;
    });
    assert.ok(presses > 2, `${presses} presses`);
    const [, ...outcomes] = await runs.turns(id, 1);
    assert.deepEqual(outcomes, ['completed', 'completed', 'completed']);
  });

  it('can be stopped and started, and shows the steps of a start', async (t) => {
    const runs = await startRuns({ settings: { agent: 'slow' } }, t);
    const id = await runs.create('say hello');
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    await page.locator('.steps .current', { hasText: 'Starting the agent' }).waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('You stopped the conversation.').first().waitFor();
    await runs.service.ask('/api/settings', { json: { agent: 'fake' } });
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('log').getByText('hello', { exact: true }).waitFor();
    await runs.reaches(id, 'RUNNING');
  });

  it('can be interrupted by a button and by Esc, and keeps running', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create('run one\nhang');
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    const interrupt = page.getByRole('button', { name: 'Interrupt', exact: true });
    await interrupt.click();
    const notices = page.getByRole('log').getByText('The turn was cancelled.');
    await notices.waitFor();
    await interrupt.waitFor({ state: 'detached' });
    const box = page.getByLabel('Message', { exact: true });
    await box.fill('run two\nhang');
    await box.press('Control+Enter');
    await interrupt.waitFor();
    await box.fill('A draft');
    // Escape closes a menu and does nothing else.
    await page.getByRole('button', { name: 'More' }).click();
    await page.keyboard.press('Escape');
    assert.equal(await notices.count(), 1);
    await box.press('Escape');
    await until('the second turn is cancelled', async () => (await notices.count()) === 2);
    assert.equal(await box.inputValue(), 'A draft');
    assert.equal((await runs.info(id)).status, 'RUNNING');
  });

  it('shows why it failed', async (t) => {
    const runs = await startRuns({ settings: { agent: 'absent' } }, t);
    const id = await runs.create('say hello');
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    await page.locator('.badge').getByText('Failed').waitFor();
    await page
      .getByRole('log')
      .getByText(/is not installed/)
      .waitFor();
    // The timeline already shows the reason.
    assert.equal(await page.locator('.status-line').count(), 0);
  });

  it('shows its agent and model at the message box, where they can be changed', async (t) => {
    const { service, create, turns, say } = await startRuns({ settings: { llm_model: 'openai/gpt-5' } }, t);
    const id = await create('say one');
    await turns(id, 1);
    const page = await browser.open(t, service.url);
    await enter(page, service, `/conversations/${id}`);
    await page.getByRole('button', { name: 'Agent and model: fake · openai/gpt-5' }).click();
    const dialog = page.getByRole('dialog');
    const save = dialog.getByRole('button', { name: 'Save' });
    assert.equal(await save.isDisabled(), true);
    await dialog.getByLabel('Agent', { exact: true }).selectOption('other');
    await dialog.getByLabel('Model', { exact: true }).fill('xai/grok-4');
    await save.click();
    await dialog.getByText('No API key of xai is stored.').waitFor();
    assert.deepEqual(await faultsOf(page, 'the dialog'), []);
    await dialog.getByLabel('Model', { exact: true }).fill('ollama/qwen3');
    await dialog.getByLabel('Approval', { exact: true }).selectOption('on');
    await save.click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Agent and model: other · ollama/qwen3' }).waitFor();
    await page.getByText('From the next turn on, the agent is other.').waitFor();
    const { body } = await service.ask(`/api/conversations/${id}`);
    assert.deepEqual([body.agent, body.llm_model, body.confirmation_mode], ['other', 'ollama/qwen3', true]);
    await say(id, 'say two');
    await turns(id, 2);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('button', { name: 'Agent and model', exact: true }).click();
    await dialog.getByLabel('Model', { exact: true }).fill('');
    await save.click();
    await page.getByRole('button', { name: 'Agent and model: other · openai/gpt-5' }).waitFor();
    assert.equal((await service.ask('/api/settings')).body.agent, 'fake');
  });

  it('can be renamed, exported, and deleted after a confirmation', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create('edit a.txt hello');
    await runs.turns(id, 1);
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    const menu = page.getByRole('button', { name: 'More' });
    await menu.click();
    await page.keyboard.press('ArrowUp');
    await page.getByRole('button', { name: 'Delete' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByLabel('Title').waitFor();
    await page.keyboard.type('Another name');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Another name' }).waitFor();
    assert.equal(((await runs.info(id)) as unknown as { title: string }).title, 'Another name');

    for (const [name, start] of [
      ['Export conversation', '{"trajectory":[{"id":0'],
      ['Download files', 'PK'],
    ] as const) {
      await menu.click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name }).click(),
      ]);
      assert.ok(
        readFileSync(await download.path(), 'latin1')
          .replaceAll(' ', '')
          .startsWith(start),
        name,
      );
    }

    await menu.click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    assert.ok(await runs.info(id));
    await menu.click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No conversations yet').waitFor();
    await page.getByRole('status').getByText('Deleted: Another name').waitFor();
    assert.equal(await page.getByText('Reconnected.').count(), 0);
    assert.equal(await runs.info(id), null);
    await page.goto(`${runs.service.url}${path(id)}`);
    await page.getByText('This conversation does not exist or was deleted.').waitFor();
  });

  it('stays at its end until the user scrolls up, and then announces new messages', async (t) => {
    const runs = await startRuns({}, t);
    const id = await runs.create(Array.from({ length: 40 }, (_, i) => `run echo line ${i}`).join('\n'));
    await runs.turns(id, 1);
    const page = await browser.open(t, runs.service.url);
    await enter(page, runs.service, path(id));
    const log = page.getByRole('log');
    await log.getByText('line 39', { exact: true }).waitFor();
    await runs.say(id, 'run echo line 40');
    await log.getByText('line 40', { exact: true }).waitFor();
    await log.hover();
    await page.mouse.wheel(0, -1_500);
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
    const before = await page.evaluate<number>(`document.querySelector('.scroller').scrollTop`);
    await runs.say(id, 'run echo line 41');
    const newest = page.getByRole('button', { name: /^Jump to latest \d+ new$/ });
    await newest.waitFor();
    assert.equal(await page.evaluate(`document.querySelector('.scroller').scrollTop`), before);
    await newest.click();
    await log.getByText('line 41', { exact: true }).waitFor();

    const numbers = Array.from({ length: 60 }, (_, i) => `n${i}`).join('\\n');
    await runs.say(id, `really-run printf '${numbers}'`);
    const expand = log.getByRole('button', { name: 'Show all 60 lines' });
    await expand.waitFor();
    const top = (await expand.boundingBox())?.y;
    await expand.click();
    const collapse = log.getByRole('button', { name: 'Show less' });
    await collapse.waitFor();
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
    assert.equal((await collapse.boundingBox())?.y, top);
    const messageBox = page.getByLabel('Message', { exact: true });
    await messageBox.fill('run echo line 42');
    await messageBox.press('Control+Enter');
    await log.getByText('line 42', { exact: true }).waitFor();
  });

  it('renders only the visible part of a long log', async (t) => {
    const service = await startService({}, t);
    const message = (content: string) => ({
      source: 'agent',
      message: '',
      action: 'message',
      args: { content },
    });
    const replay = Array.from({ length: 9_999 }, (_, i) => message(`Message ${i}`));
    replay.push(message('See https://example.com/bare\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] written'));
    const json = {
      conversation_id: 'long',
      replay_json: JSON.stringify(replay),
      initial_user_msg: 'The last one',
    };
    await service.ask('/api/conversations', { json });
    const page = await browser.open(t, service.url);
    await enter(page, service, path('long'));
    const log = page.getByRole('log');
    await log.getByText('The last one').waitFor();
    assert.ok((await log.locator('article').count()) < 50);
    await log.getByRole('link', { name: 'https://example.com/bare' }).waitFor();
    await log.getByRole('cell', { name: '2' }).waitFor();
    assert.equal(await log.getByRole('checkbox', { name: 'done' }).isChecked(), true);
    await log.focus();
    await page.keyboard.press('Home');
    await log.getByText('Message 0', { exact: true }).waitFor();
    assert.ok((await log.locator('article').count()) < 50);
    await page.keyboard.press('e');
    await log.getByText('The last one').waitFor();
  });

  it('notifies of approval requests while the user looks elsewhere, after a click in the settings', async (t) => {
    const runs = await startRuns({ settings: { confirmation_mode: true } }, t);
    const id = await runs.create('say hello');
    await runs.turns(id, 1);
    const page = await browser.open(t, runs.service.url);
    await page.addInitScript(`
      window.shown = []; window.requests = 0;
      document.hasFocus = () => window.isFocused === true;
      window.Notification = class {
        static permission = 'default';
        static async requestPermission() { window.requests++; return (this.permission = 'granted'); }
        constructor(title, options) { window.shown.push(this); Object.assign(this, { title, ...options }); }
        close() {}
      };`);
    const shown = () => page.evaluate<string[]>('window.shown.map(({ title, tag }) => title + ": " + tag)');
    await enter(page, runs.service, '/settings/general');
    await page.getByRole('button', { name: 'Turn on browser notifications' }).waitFor();
    assert.equal(await page.evaluate('window.requests'), 0);
    await page.getByRole('button', { name: 'Turn on browser notifications' }).click();
    await page.getByRole('button', { name: 'Turn off browser notifications' }).waitFor();
    await page.getByRole('link', { name: 'New conversation' }).click();
    await page.locator('.rows').getByText('Waiting for input').waitFor();
    await runs.say(id, 'ask execute rm one');
    await until('it is shown', async () => (await shown()).length === 1);
    assert.deepEqual(await shown(), [`An agent needs your approval: ${id}`]);
    await page.evaluate('window.shown[0].onclick()');
    await page.getByRole('button', { name: 'Reject' }).waitFor();
    assert.equal(new URL(page.url()).pathname, path(id));
    await runs.service.ask(`/api/conversations/${id}/confirm`, { json: { decision: 'reject' } });
    await runs.turns(id, 2);
    await runs.say(id, 'ask execute rm two');
    await until(
      'it is shown on the screen of the conversation, too',
      async () => (await shown()).length === 2,
    );
    await runs.service.ask(`/api/conversations/${id}/confirm`, { json: { decision: 'reject' } });
    await runs.turns(id, 3);
    await page.evaluate('window.isFocused = true');
    await runs.say(id, 'ask execute rm three');
    await page.getByRole('button', { name: 'Reject' }).waitFor();
    assert.equal((await shown()).length, 2);
  });

  it('plays a sound when the agent waits or the conversation stops by itself, if the settings want it', async (t) => {
    const runs = await startRuns({ settings: { enable_sound_notifications: true } }, t);
    const id = await runs.create('say hello');
    await runs.turns(id, 1);
    const page = await browser.open(t, runs.service.url);
    await page.addInitScript(
      `window.sounds = 0; window.AudioContext = class { constructor() { window.sounds++; throw new Error('silent'); } };`,
    );
    const sounds = () => page.evaluate<number>('window.sounds');
    await enter(page, runs.service, path(id));
    await page.getByRole('log').getByText('hello', { exact: true }).waitFor();
    assert.equal(await sounds(), 0);
    await runs.say(id, 'say again');
    await until('the sound is played', async () => (await sounds()) === 1);
    await runs.say(id, 'crash');
    await page.locator('.badge').getByText('Failed').waitFor();
    await until('the sound is played at the end', async () => (await sounds()) === 2);
    await runs.say(id, 'say once more');
    await until('the sound is played again', async () => (await sounds()) === 3);
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('log').getByText('You stopped the conversation.').last().waitFor();
    assert.equal(await sounds(), 3);
    await page.getByRole('link', { name: 'New conversation' }).click();
    await page.locator('.rows').getByText('Stopped', { exact: true }).waitFor();
    await runs.say(id, 'say from afar');
    await page.locator('.rows').getByText('Waiting for input').waitFor();
    await until('the sound is played on the home screen, too', async () => (await sounds()) === 4);
  });
});
