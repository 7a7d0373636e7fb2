// All changes of a conversation: a tree of the files, their diffs, and comments that are sent together.
import { useMutation } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { randomText } from '../../../../src/client/conversations.ts';
import type { GitChange } from '../../../../src/client/parley.ts';
import { ErrorCallout } from '../../components/Callout.tsx';
import { Dialog } from '../../components/Dialog.tsx';
import { Icon } from '../../components/Icon.tsx';
import { visibleLine } from '../../components/visibleText.ts';
import { useDraft } from '../../session/drafts.ts';
import { useParley } from '../../session/session.tsx';
import { useTexts } from '../../texts/texts.tsx';
import { commentsMax, commentsMessage, type LineComment } from './comments.ts';
import { FileReview } from './FileReview.tsx';
import { fileTree } from './fileTree.ts';
import type { ReviewLayout } from './ReviewLines.tsx';

interface ReviewDialogProps {
  readonly id: string;
  readonly changes: readonly GitChange[];
  /** The file that is shown first. */
  readonly first: string | undefined;
  readonly onClose: () => void;
}

interface Draft {
  readonly comments: readonly LineComment[];
}

const noComments: Draft = { comments: [] };
/** From this width on, two columns fit. */
const wideScreen = '(width >= 70rem)';

/** Comments outlive the dialog, and a reload. */
function useComments(id: string, onSent: () => void) {
  const parley = useParley();
  const { draft, change, clear } = useDraft<Draft>(`review.${id}`, noComments);
  const { comments } = draft;
  const lastKey = useRef<{ readonly text: string; readonly key: string }>(undefined);
  const send = useMutation({
    mutationFn: (text: string) => {
      // A repetition after an error adds no second message.
      if (lastKey.current?.text !== text) lastKey.current = { text, key: randomText() };
      return parley.conversations.message(id, text, { idempotencyKey: lastKey.current.key });
    },
    onSuccess: () => {
      clear();
      onSent();
    },
  });
  return {
    comments,
    add: (comment: LineComment) =>
      change((newest) => ({ comments: [...newest.comments, comment].slice(0, commentsMax) })),
    remove: (comment: LineComment) =>
      change((newest) => ({ comments: newest.comments.filter((one) => one !== comment) })),
    send: () => send.mutate(commentsMessage(comments)),
    isSending: send.isPending,
    error: send.error,
  };
}

export function ReviewDialog({ id, changes, first, onClose }: ReviewDialogProps) {
  const { details, review } = useTexts();
  const [layout, setLayout] = useState<ReviewLayout>('unified');
  const tree = useMemo(() => fileTree(changes), [changes]);
  const files = useRef<HTMLDivElement>(null);
  const { comments, add, remove, send, isSending, error } = useComments(id, onClose);

  const show = (path: string) =>
    files.current?.querySelector(`[data-path="${CSS.escape(path)}"]`)?.scrollIntoView({ block: 'start' });
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the dialog opens
  useEffect(() => {
    if (first !== undefined) show(first);
  }, []);

  return (
    <Dialog
      title={details.changes}
      wide
      onClose={onClose}
      footer={
        <>
          <ErrorCallout error={error} />
          <button
            type="button"
            className="button primary"
            disabled={comments.length === 0 || isSending}
            onClick={send}
          >
            {review.send(comments.length)}
          </button>
        </>
      }
    >
      <div className="review">
        <nav className="review-tree" aria-label={review.files}>
          <ul>
            {tree.map((row) => (
              <li key={`${row.kind} ${row.path}`} className={`depth-${Math.min(row.depth, 8)}`}>
                {row.kind === 'folder' ? (
                  <span className="muted">{visibleLine(row.name)}/</span>
                ) : (
                  <button type="button" onClick={() => show(row.path)}>
                    <span className={`file-status ${row.status}`}>{row.status}</span>
                    <span>{visibleLine(row.name)}</span>
                  </button>
                )}
              </li>
            ))}
          </ul>
        </nav>
        <div className="review-files" ref={files}>
          {matchMedia(wideScreen).matches ? (
            <button
              type="button"
              className="button review-layout"
              aria-pressed={layout === 'split'}
              onClick={() => setLayout(layout === 'split' ? 'unified' : 'split')}
            >
              <Icon name="panel" />
              {review.sideBySide}
            </button>
          ) : null}
          {changes.map((change) => (
            <FileReview
              key={change.path}
              id={id}
              change={change}
              layout={layout}
              comments={comments}
              onComment={add}
              onRemove={remove}
            />
          ))}
        </div>
      </div>
    </Dialog>
  );
}
