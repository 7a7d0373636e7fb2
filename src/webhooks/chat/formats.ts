// The requests that chat services expect. Each format escapes text as its service demands.
import type { WebhookFormat } from '../schema.ts';
import type { ChatMessage } from './chatMessage.ts';
import { escapeMarkdown, escapeSlack } from './neutralText.ts';

export interface ChatRequest {
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export type ChatFormat = Exclude<WebhookFormat, 'parley'>;

const openLabel = 'Open the conversation';

function json(value: unknown): ChatRequest {
  return { contentType: 'application/json', body: JSON.stringify(value) };
}

function lines(...parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null && part !== '').join('\n');
}

/** Slack shows `plain_text` as it is. `text` is shown in notifications, without the blocks. */
function slack({ heading, text, url }: ChatMessage): ChatRequest {
  const section = (content: object) => ({ type: 'section', text: content });
  const plain = (content: string) => section({ type: 'plain_text', text: content, emoji: false });
  const link = `<${escapeSlack(url ?? '')}|${openLabel}>`;
  const blocks = [
    plain(heading),
    ...(text === '' ? [] : [plain(text)]),
    ...(url === null ? [] : [section({ type: 'mrkdwn', text: link, verbatim: true })]),
  ];
  return json({ text: escapeSlack(heading), blocks, unfurl_links: false, unfurl_media: false });
}

function mattermost({ heading, text, url }: ChatMessage): ChatRequest {
  const link = url === null ? null : `[${openLabel}](${url})`;
  return json({ text: lines(`**${escapeMarkdown(heading)}**`, escapeMarkdown(text), link) });
}

function discord({ heading, text, url }: ChatMessage): ChatRequest {
  const link = url === null ? {} : { title: openLabel, url };
  const embed = text === '' ? link : { ...link, description: escapeMarkdown(text) };
  return json({
    content: `**${escapeMarkdown(heading)}**`,
    ...(Object.keys(embed).length === 0 ? {} : { embeds: [embed] }),
    allowed_mentions: { parse: [] },
  });
}

/** An Adaptive Card. The text of a TextRun is not read as Markdown. */
function teams({ heading, text, url }: ChatMessage): ChatRequest {
  const paragraph = (run: string, weight: 'Bolder' | 'Default') => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: run, weight }],
  });
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [paragraph(heading, 'Bolder'), ...(text === '' ? [] : [paragraph(text, 'Default')])],
    ...(url === null ? {} : { actions: [{ type: 'Action.OpenUrl', title: openLabel, url }] }),
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return json({ type: 'message', attachments: [{ contentType, contentUrl: null, content }] });
}

/** Header values are ASCII, so the title is encoded as RFC 2047 describes. */
function ntfy({ heading, text, url }: ChatMessage): ChatRequest {
  return {
    contentType: 'text/plain; charset=utf-8',
    headers: {
      title: `=?UTF-8?B?${Buffer.from(heading).toString('base64')}?=`,
      ...(url === null ? {} : { click: url }),
    },
    body: text === '' ? heading : text,
  };
}

const formats: Readonly<Record<ChatFormat, (message: ChatMessage) => ChatRequest>> = {
  slack,
  mattermost,
  discord,
  teams,
  ntfy,
};

export function toChatRequest(format: ChatFormat, message: ChatMessage): ChatRequest {
  return formats[format](message);
}
