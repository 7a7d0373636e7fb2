// The changes of one file. They are loaded when they come into view.
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { type GitChange, ParleyError } from '../../../../src/client/parley.ts';
import { ErrorCallout, Loading } from '../../components/Callout.tsx';
import { visibleLine } from '../../components/visibleText.ts';
import { useParley } from '../../session/session.tsx';
import { useTexts } from '../../texts/texts.tsx';
import { compare, countChanges } from '../content/diff.ts';
import type { LineComment } from './comments.ts';
import { type ReviewLayout, ReviewLines } from './ReviewLines.tsx';

interface FileReviewProps {
  readonly id: string;
  readonly change: GitChange;
  readonly layout: ReviewLayout;
  readonly comments: readonly LineComment[];
  readonly onComment: (comment: LineComment) => void;
  readonly onRemove: (comment: LineComment) => void;
}

/** True once the element has been in view. */
function useWasVisible(element: React.RefObject<HTMLElement | null>): boolean {
  const [was, setWas] = useState(false);
  useEffect(() => {
    if (element.current === null || was) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setWas(true);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, was]);
  return was;
}

export function FileReview({ id, change, layout, comments, onComment, onRemove }: FileReviewProps) {
  const { details, shell } = useTexts();
  const { path, status } = change;
  const parley = useParley();
  const section = useRef<HTMLElement>(null);
  const wasVisible = useWasVisible(section);
  const diff = useQuery({
    queryKey: ['diff', id, path],
    queryFn: ({ signal }) => parley.workspace.diff(id, path, { signal }),
    enabled: wasVisible,
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  const isBinary = diff.error instanceof ParleyError && diff.error.code === 'binary_file';
  const lines = useMemo(
    () => (diff.data === undefined ? [] : compare(diff.data.original ?? '', diff.data.modified ?? '')),
    [diff.data],
  );
  const { added, removed } = countChanges(lines);
  return (
    <section
      ref={section}
      className="file-review"
      data-path={path}
      aria-label={details.diffOf(visibleLine(path))}
    >
      <header>
        <span className={`file-status ${status}`}>{status}</span>
        <h3 className="mono">{visibleLine(path)}</h3>
        {diff.data === undefined ? null : (
          <span className="counts">
            <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
          </span>
        )}
      </header>
      {diff.isPending ? <Loading>{shell.loading}</Loading> : null}
      {isBinary ? <p className="muted">{details.binary}</p> : <ErrorCallout error={diff.error} />}
      {diff.data === undefined ? null : lines.length === 0 ? (
        <p className="muted">{details.same}</p>
      ) : (
        <ReviewLines
          path={path}
          lines={lines}
          layout={layout}
          comments={comments}
          onComment={onComment}
          onRemove={onRemove}
        />
      )}
    </section>
  );
}
