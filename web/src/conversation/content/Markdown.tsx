// Renders the Markdown of an agent, without HTML and without loading anything from other hosts.
import { type ComponentProps, memo } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { Code } from '../../code/Code.tsx';
import { ErrorBoundary } from '../../components/ErrorBoundary.tsx';
import { visibleText } from '../../components/visibleText.ts';
import { useTexts } from '../../texts/texts.tsx';
import { CopyButton } from './CopyButton.tsx';
import { exceedsMarkdownLimits } from './markdownLimits.ts';
import { Scrollable } from './Scrollable.tsx';
import { externalUrl, isInlineImage, safeUrl } from './safeUrl.ts';

/** A link to another host. Any other URL becomes plain text. */
export function ExternalLink({ href, children }: ComponentProps<'a'>) {
  const url = externalUrl(href ?? '', location.origin);
  if (url === undefined) return <span>{children}</span>;
  return (
    <a href={url} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

/** Images of other hosts are links: loading them would tell that host that the text was read. */
function MarkdownImage({ src, alt }: ComponentProps<'img'>) {
  const { items } = useTexts();
  if (typeof src !== 'string' || src === '') return null;
  if (isInlineImage(src)) return <img src={src} alt={alt ?? ''} />;
  return <ExternalLink href={src}>{alt || `${items.remoteImage} ${visibleText(src)}`}</ExternalLink>;
}

function CodeBlock({ children, node }: ComponentProps<'pre'> & { readonly node?: unknown }) {
  const { items } = useTexts();
  return (
    <div className="code-block">
      <Scrollable label={items.code}>{children}</Scrollable>
      <CopyButton text={() => visibleText(plainText(node))} />
    </div>
  );
}

interface Node {
  readonly value?: string;
  readonly children?: readonly Node[];
}

function plainText(node: unknown): string {
  const { value, children = [] } = (node ?? {}) as Node;
  return (value ?? '') + children.map(plainText).join('');
}

/** The language after the fence of a code block. */
const languageClass = /^language-(\S+)$/;

function MarkdownCode({ children, className }: ComponentProps<'code'>) {
  if (typeof children !== 'string') return <code>{children}</code>;
  const [, language] = languageClass.exec(className ?? '') ?? [];
  return (
    <code>
      <Code text={visibleText(children)} language={language} />
    </code>
  );
}

/** A table may be wider than the screen, and scrolls by keyboard, too. */
function Table({ children }: ComponentProps<'table'>) {
  const { items } = useTexts();
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is not part of a form
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroll container must be focusable
    <div className="table" tabIndex={0} role="group" aria-label={items.table}>
      <table>{children}</table>
    </div>
  );
}

/** The read-only checkbox of a task list. */
function TaskCheckbox({ checked }: ComponentProps<'input'>) {
  const { items } = useTexts();
  return (
    <input
      type="checkbox"
      checked={checked}
      disabled
      aria-label={items.planState[checked ? 'done' : 'todo']}
    />
  );
}

const components: Components = {
  a: ExternalLink,
  img: MarkdownImage,
  pre: CodeBlock,
  code: MarkdownCode,
  table: Table,
  input: TaskCheckbox,
};
const plugins = [remarkGfm];

export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const plain = <p className="plain-text">{text}</p>;
  if (exceedsMarkdownLimits(text)) return plain;
  return (
    <ErrorBoundary resetKey={text} fallback={plain}>
      <div className="prose">
        <ReactMarkdown components={components} remarkPlugins={plugins} urlTransform={safeUrl}>
          {text}
        </ReactMarkdown>
      </div>
    </ErrorBoundary>
  );
});
