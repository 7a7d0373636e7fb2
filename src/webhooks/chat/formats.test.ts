import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusMessage, waitingMessage } from './chatMessage.ts';
import { type ChatFormat, toChatRequest } from './formats.ts';

const formats: readonly ChatFormat[] = ['slack', 'mattermost', 'discord', 'teams', 'ntfy'];
const url = 'https://parley.example.com/conversations/c1';
const waiting = {
  conversation_id: 'c1',
  waits_for: 'approval',
  title: 'Tidy up',
  event_id: 7,
  message: 'Run `rm -r build`',
  url,
  at: '2026-01-31T12:00:00.000Z',
} as const;

const request = (format: ChatFormat, more: Partial<typeof waiting> | object = {}) =>
  toChatRequest(format, waitingMessage({ ...waiting, ...more }));
// biome-ignore lint/suspicious/noExplicitAny: the bodies have the shapes of five services
const body = (format: ChatFormat, more: object = {}): any => JSON.parse(request(format, more).body);

describe('messages for chat services', () => {
  it('have the form that each service expects', () => {
    assert.deepEqual(body('slack'), {
      text: 'Approval needed: Tidy up',
      blocks: [
        { type: 'plain_text', text: 'Approval needed: Tidy up', emoji: false },
        { type: 'plain_text', text: 'Run `rm -r build`', emoji: false },
        { type: 'mrkdwn', text: `<${url}|Open the conversation>`, verbatim: true },
      ].map((text) => ({ type: 'section', text })),
      unfurl_links: false,
      unfurl_media: false,
    });
    assert.deepEqual(body('mattermost'), {
      text: `**Approval needed: Tidy up**\nRun \\\`rm -r build\\\`\n[Open the conversation](${url})`,
    });
    assert.deepEqual(body('discord'), {
      content: '**Approval needed: Tidy up**',
      embeds: [{ title: 'Open the conversation', url, description: 'Run \\`rm -r build\\`' }],
      allowed_mentions: { parse: [] },
    });
    const { type, attachments } = body('teams');
    assert.equal(type, 'message');
    assert.equal(attachments[0].contentType, 'application/vnd.microsoft.card.adaptive');
    const { body: blocks, actions } = attachments[0].content;
    assert.deepEqual(
      blocks.map(({ type: block, inlines }: { type: string; inlines: unknown }) => [block, inlines]),
      [
        ['RichTextBlock', [{ type: 'TextRun', text: 'Approval needed: Tidy up', weight: 'Bolder' }]],
        ['RichTextBlock', [{ type: 'TextRun', text: 'Run `rm -r build`', weight: 'Default' }]],
      ],
    );
    assert.deepEqual(actions, [{ type: 'Action.OpenUrl', title: 'Open the conversation', url }]);
    const { contentType, headers, body: text } = request('ntfy', { title: 'Größe' });
    assert.deepEqual([contentType, text], ['text/plain; charset=utf-8', 'Run `rm -r build`']);
    const [, encoded = ''] = /^=\?UTF-8\?B\?(.*)\?=$/.exec(headers?.['title'] ?? '') ?? [];
    assert.equal(Buffer.from(encoded, 'base64').toString(), 'Approval needed: Größe');
    assert.equal(headers?.['click'], url);
  });

  it('leave out the link without a public URL, and text if there is none', () => {
    const bare = { url: null, message: '' };
    assert.equal(body('slack', bare).blocks.length, 1);
    assert.equal(body('mattermost', bare).text, '**Approval needed: Tidy up**');
    assert.equal(body('discord', bare).embeds, undefined);
    assert.equal(body('teams', bare).attachments[0].content.actions, undefined);
    assert.deepEqual(request('ntfy', bare).headers?.['click'], undefined);
    assert.equal(request('ntfy', bare).body, 'Approval needed: Tidy up');
  });

  it('say what happened to a conversation', () => {
    const change = { conversation_id: 'c1', agent_state: null, title: 'Tidy up', at: waiting.at };
    const of = (
      status: 'STOPPED' | 'STARTING' | null,
      stop_reason: { code: 'idle'; message: string } | null,
    ) => statusMessage({ ...change, status, stop_reason }, 'https://parley.example.com');
    assert.deepEqual(of('STOPPED', { code: 'idle', message: 'It was idle.' }), {
      heading: 'Stopped: Tidy up',
      text: 'It was idle.',
      url,
    });
    assert.deepEqual(of(null, null), { heading: 'Deleted: Tidy up', text: '', url: null });
  });

  const hostile = [
    '@everyone @here @channel @all <!channel> <!here|x> <!subteam^S1> <@U1> <@&9> <@!9> <#C1> @ada',
    '[click](https://evil.example) <https://evil.example|bank> https://evil.example www.evil.example',
    '![x](http://evil.example/x.png) mailto:a@evil.example *b* _i_ ~~s~~ `c` ||s|| # h > q',
    '&lt;!channel&gt; \u202egnp.exe\u202c \u0007 \u2028 \ud800',
  ].join('\n');

  for (const format of formats)
    it(`notify nobody and create no link, whatever a title or an agent says: ${format}`, () => {
      for (const field of ['title', 'message']) {
        const sent = request(format, { [field]: hostile, url: null });
        const title = sent.headers?.['title'] ?? '';
        const all = sent.body + Buffer.from(title.slice(10, -2), 'base64').toString();
        assert.doesNotMatch(all, /@(?!\u200b)/);
        // The card names its own schema.
        assert.doesNotMatch(all.replace('http://adaptivecards.io', ''), /:\/\//);
        assert.doesNotMatch(all, /www\./);
        assert.doesNotMatch(all, /<(?!\u200b)/);
        assert.doesNotMatch(all, /mailto:/);
        assert.doesNotMatch(all, /[\p{Bidi_Control}\u2028]|\\u0007/u);
        assert.ok(sent.body.isWellFormed() && !/\\ud[89a-f]/i.test(sent.body));
      }
    });

  it('escape markup of the service', () => {
    const message = 'a [b](c) *d* _e_ ~f~ `g` |h| > # \\ & <i>';
    const section = body('slack', { message }).blocks[1].text.text;
    assert.equal(section, message.replace('<', '<\u200b'), 'plain text has no markup');
    const escaped = 'a \\[b\\]\\(c\\) \\*d\\* \\_e\\_ \\~f\\~ \\`g\\` \\|h\\| \\> \\# \\\\ & <\u200bi\\>';
    assert.equal(body('discord', { message }).embeds[0].description, escaped);
    assert.equal(body('mattermost', { message }).text.split('\n')[1], escaped);
  });

  it('show the end of a long answer, which has the question, and the start of a long command', () => {
    const message = `start ${'x'.repeat(1_000)} end?`;
    assert.match(body('slack', { message, waits_for: 'answer' }).blocks[1].text.text, /^…x+ end\?$/);
    assert.match(body('slack', { message, waits_for: 'approval' }).blocks[1].text.text, /^start x+…$/);
  });

  it('stay within the limits of the services, even if every character is escaped', () => {
    for (const character of ['&', '*', '@', '<', 'ä', '😀']) {
      const long = { title: character.repeat(1_000), message: character.repeat(10_000) };
      for (const { text } of body('slack', long).blocks) assert.ok(text.text.length <= 3_000);
      const { content, embeds } = body('discord', long);
      assert.ok(content.length <= 2_000 && embeds[0].description.length <= 4_096);
      assert.ok(body('mattermost', long).text.length <= 4_000);
      assert.ok(Buffer.byteLength(request('teams', long).body) <= 28_000);
      assert.ok(Buffer.byteLength(request('ntfy', long).body) <= 4_096);
    }
  });
});
