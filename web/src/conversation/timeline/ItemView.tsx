// One item of the timeline.
import { memo } from 'react';
import { ErrorBoundary } from '../../components/ErrorBoundary.tsx';
import { Icon } from '../../components/Icon.tsx';
import { visibleText } from '../../components/visibleText.ts';
import { ZoomableImage } from '../../components/ZoomableImage.tsx';
import { useTexts } from '../../texts/texts.tsx';
import { useItemFlag } from '../content/itemFlags.ts';
import { ExternalLink, Markdown } from '../content/Markdown.tsx';
import { Output } from '../content/Output.tsx';
import { PlanView } from '../content/PlanView.tsx';
import { isInlineImage } from '../content/safeUrl.ts';
import type { Item } from '../items.ts';
import { CallView } from './CallView.tsx';

type Message = Extract<Item, { kind: 'message' }>;

const urlCharsMax = 200;

/** A data URL can be very long. */
function shortUrl(url: string): string {
  return visibleText(url.length > urlCharsMax ? `${url.slice(0, urlCharsMax)}…` : url);
}

function Images({ images }: { readonly images: readonly string[] }) {
  const { items } = useTexts();
  if (images.length === 0) return null;
  return (
    <div className="images">
      {images.map((url, i) =>
        isInlineImage(url) ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be there twice
          <ZoomableImage key={i} src={url} name={items.image(i + 1)} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same URL may be there twice
          <ExternalLink key={i} href={url}>
            {items.remoteImage} {shortUrl(url)}
          </ExternalLink>
        ),
      )}
    </div>
  );
}

function Files({ files }: { readonly files: readonly string[] }) {
  const { items } = useTexts();
  if (files.length === 0) return null;
  return (
    <ul className="attachments" aria-label={items.files}>
      {files.map((path, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same path may be there twice
        <li key={i}>
          <Icon name="file" />
          <span className="attachment-name">{shortUrl(path)}</span>
        </li>
      ))}
    </ul>
  );
}

function classOf({ from, isUnfinished = false }: Message): string {
  if (from === 'user') return 'message from-user';
  return isUnfinished ? 'message unfinished' : 'message';
}

function MessageView({ item }: { readonly item: Message }) {
  const { conversation } = useTexts();
  const isFromUser = item.from === 'user';
  return (
    <article className={classOf(item)}>
      <header>
        <strong>{isFromUser ? conversation.you : conversation.agent}</strong>
        {item.isQueued ? <span className="queued">{conversation.queued}</span> : null}
        {item.replayed ? <span className="muted">{conversation.replayed}</span> : null}
      </header>
      {isFromUser ? <p className="plain-text">{item.text}</p> : <Markdown text={item.text} />}
      <Images images={item.images} />
      <Files files={item.files} />
    </article>
  );
}

function Thought({ text }: { readonly text: string }) {
  const { items } = useTexts();
  const [open, setOpen] = useItemFlag('thought');
  const first = text.trim().split('\n', 1)[0] ?? '';
  return (
    <details className="thought" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="call-head">
        <Icon name="brain" />
        <span className="verb">{items.thought}</span>
        <span className="subject muted">{visibleText(first)}</span>
      </summary>
      {open ? <Markdown text={text} /> : null}
    </details>
  );
}

function Note({ item }: { readonly item: Extract<Item, { kind: 'notice' | 'error' | 'stopped' }> }) {
  const { items, conversation } = useTexts();
  const label = { notice: items.notice, error: items.error, stopped: conversation.stopped }[item.kind];
  const icon = { notice: 'info', error: 'alert', stopped: 'stop' } as const;
  return (
    <div className={item.kind === 'error' ? 'note error' : 'note'}>
      <Icon name={icon[item.kind]} />
      <p>
        <span className="verb">{label}</span> {visibleText(item.text)}
      </p>
    </div>
  );
}

function ItemContent({ item }: { readonly item: Item }) {
  const { items } = useTexts();
  switch (item.kind) {
    case 'message':
      return <MessageView item={item} />;
    case 'thought':
      return <Thought text={item.text} />;
    case 'call':
      return <CallView call={item.call} />;
    case 'plan':
      return (
        <section className="call" aria-label={items.plan}>
          <div className="call-head">
            <Icon name="check" />
            <span className="verb">{items.plan}</span>
          </div>
          <PlanView tasks={item.tasks} />
        </section>
      );
    default:
      return <Note item={item} />;
  }
}

/** An item that cannot be rendered is shown as JSON, so that the rest of the timeline still works. */
export const ItemView = memo(function ItemView({ item }: { readonly item: Item }) {
  const { shell } = useTexts();
  return (
    <ErrorBoundary
      resetKey={item}
      fallback={<Output text={JSON.stringify(item, null, 2)} label={shell.broken} />}
    >
      <ItemContent item={item} />
    </ErrorBoundary>
  );
});
