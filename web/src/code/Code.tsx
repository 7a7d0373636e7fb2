// Code with its tokens in colours. The text of each is a text node, so nothing in it can become HTML.
import { memo, type ReactNode, useMemo } from 'react';
import { useTokens } from './highlighting.ts';
import { type CodeHint, type Segment, segmentsOf } from './tokens.ts';

export function renderSegments(segments: readonly Segment[]): ReactNode[] {
  return segments.map(({ text, kind }, i) =>
    kind === undefined ? (
      text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: segments have no id, and are replaced together
      <span key={i} className={`code-${kind}`}>
        {text}
      </span>
    ),
  );
}

interface CodeProps {
  readonly text: string;
  /** As after the fence of a code block. */
  readonly language?: string | undefined;
  /** The file whose text it is. */
  readonly path?: string | undefined;
}

function hintOf({ language, path }: CodeProps): CodeHint {
  if (language !== undefined) return { language };
  return path === undefined ? undefined : { path };
}

export const Code = memo(function Code(props: CodeProps) {
  const { text } = props;
  const tokens = useTokens(text, hintOf(props));
  return useMemo(() => renderSegments(segmentsOf(text, tokens)), [text, tokens]);
});
