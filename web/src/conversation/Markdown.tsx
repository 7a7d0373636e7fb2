// What the agent says, as it means it. No HTML of its own, and nothing is loaded from elsewhere.
import { type ComponentProps, memo } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import { useTexts } from '../texts/texts.tsx';
import { CopyButton } from './CopyButton.tsx';
import { Scrollable } from './Scrollable.tsx';
import { safeUrl } from './safeUrl.ts';

function OutLink({ href, children }: ComponentProps<'a'>) {
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

/** Those of other hosts are not loaded: whoever made the text would learn that it was read. */
function Picture({ src, alt }: ComponentProps<'img'>) {
  const { items } = useTexts();
  if (typeof src !== 'string' || src === '') return null;
  if (src.startsWith('data:image/')) return <img src={src} alt={alt ?? ''} />;
  return <OutLink href={src}>{alt || `${items.remoteImage} ${src}`}</OutLink>;
}

function Block({ children, node }: ComponentProps<'pre'> & { readonly node?: unknown }) {
  const { items } = useTexts();
  return (
    <div className="code-block">
      <Scrollable label={items.code}>{children}</Scrollable>
      <CopyButton text={() => plainText(node)} />
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

const components: Components = { a: OutLink, img: Picture, pre: Block };

export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown components={components} urlTransform={safeUrl}>
        {text}
      </ReactMarkdown>
    </div>
  );
});
