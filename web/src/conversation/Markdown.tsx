// What the agent says, as it means it. No HTML of its own, and nothing is loaded from elsewhere.
import { type ComponentProps, memo } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { ErrorBoundary } from '../components/ErrorBoundary.tsx';
import { visibleText } from '../components/visibleText.ts';
import { useTexts } from '../texts/texts.tsx';
import { CopyButton } from './CopyButton.tsx';
import { isPlain } from './plainness.ts';
import { Scrollable } from './Scrollable.tsx';
import { isHeldImage, outAddress, safeUrl } from './safeUrl.ts';

/** Text where it leads nowhere else. */
export function OutLink({ href, children }: ComponentProps<'a'>) {
  const address = outAddress(href ?? '', location.origin);
  if (address === undefined) return <span>{children}</span>;
  return (
    <a href={address} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

/** Those of other hosts are not loaded: whoever made the text would learn that it was read. */
function Picture({ src, alt }: ComponentProps<'img'>) {
  const { items } = useTexts();
  if (typeof src !== 'string' || src === '') return null;
  if (isHeldImage(src)) return <img src={src} alt={alt ?? ''} />;
  return <OutLink href={src}>{alt || `${items.remoteImage} ${visibleText(src)}`}</OutLink>;
}

function Block({ children, node }: ComponentProps<'pre'> & { readonly node?: unknown }) {
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

function Code({ children, className }: ComponentProps<'code'>) {
  return <code className={className}>{typeof children === 'string' ? visibleText(children) : children}</code>;
}

/** Tables may be wider than the screen: they scroll by themselves, by keys, too. */
function Table({ children }: ComponentProps<'table'>) {
  const { items } = useTexts();
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no part of a form
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <div className="table" tabIndex={0} role="group" aria-label={items.table}>
      <table>{children}</table>
    </div>
  );
}

/** The box of a task in a list: what it says, and not to be ticked. */
function Tick({ checked }: ComponentProps<'input'>) {
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
  a: OutLink,
  img: Picture,
  pre: Block,
  code: Code,
  table: Table,
  input: Tick,
};
const plugins = [remarkGfm];

export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const plain = <p className="plain-text">{text}</p>;
  if (isPlain(text)) return plain;
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
