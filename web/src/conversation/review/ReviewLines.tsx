// The lines of one file's diff, in one column or two, each of which can get a comment.
import { Fragment, type KeyboardEvent, type ReactNode, useMemo, useState } from 'react';
import { Icon } from '../../components/Icon.tsx';
import { useTexts } from '../../texts/texts.tsx';
import type { DiffLine } from '../content/diff.ts';
import { useDiffText } from '../content/diffText.tsx';
import { CommentForm } from './CommentForm.tsx';
import { isAt, type LineComment } from './comments.ts';
import { sideBySide } from './sideBySide.ts';

/** Longer diffs show their first lines until the user wants all of them. */
const linesShown = 500;

export type ReviewLayout = 'unified' | 'split';

interface ReviewLinesProps {
  readonly path: string;
  readonly lines: readonly DiffLine[];
  readonly layout: ReviewLayout;
  readonly comments: readonly LineComment[];
  readonly onComment: (comment: LineComment) => void;
  readonly onRemove: (comment: LineComment) => void;
}

type Place = Pick<LineComment, 'path' | 'side' | 'line' | 'code'>;

function placeOf(path: string, { kind, text, oldLine, newLine }: DiffLine): Place | undefined {
  const side = kind === 'removed' ? 'old' : 'new';
  const line = side === 'old' ? oldLine : newLine;
  return line === undefined ? undefined : { path, side, line, code: text };
}

/** Arrow keys move between the lines; only one of their buttons is reached by Tab. */
function moveByArrow(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0 || !(event.target as HTMLElement).matches('.line-comment')) return;
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('.line-comment')];
  buttons[buttons.indexOf(event.target as HTMLElement) + step]?.focus();
  event.preventDefault();
}

export function ReviewLines({ path, lines, layout, comments, onComment, onRemove }: ReviewLinesProps) {
  const { items, review } = useTexts();
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<Place>();
  const shown = useMemo(() => (all ? lines : lines.slice(0, linesShown)), [lines, all]);
  const texts = useDiffText(shown, path);
  const firstPlace = shown.findIndex((line) => placeOf(path, line) !== undefined);

  const half = (index: number | undefined, side: 'old' | 'new' | 'both'): ReactNode => {
    const line = index === undefined ? undefined : shown[index];
    if (line === undefined || index === undefined) return <div className="review-line none" />;
    if (line.kind === 'hunk' || line.kind === 'file')
      return <div className="review-line hunk">{line.text}</div>;
    const place = side === 'old' && line.kind === 'same' ? undefined : placeOf(path, line);
    return (
      <div className={`review-line ${line.kind}`}>
        {place === undefined ? (
          <span />
        ) : (
          <button
            type="button"
            className="line-comment"
            tabIndex={index === firstPlace ? 0 : -1}
            aria-label={review.commentOn(place.line)}
            onClick={() => setOpen(place)}
          >
            <Icon name="plus" />
          </button>
        )}
        {side === 'new' ? null : <span className="line-no" data-line={line.oldLine} />}
        {side === 'old' ? null : <span className="line-no" data-line={line.newLine} />}
        <code>
          <span className="sign">{{ added: '+', removed: '-', same: ' ' }[line.kind]}</span>
          {texts[index]}
        </code>
      </div>
    );
  };

  /** The comments on these lines, and the form for a new one. */
  const below = (indexes: readonly (number | undefined)[]): ReactNode => {
    const places = [...new Set(indexes)].flatMap((index) => {
      const place = index === undefined ? undefined : placeOf(path, shown[index] as DiffLine);
      return place === undefined ? [] : [place];
    });
    return places.map((place) => {
      const found = comments.filter((comment) => isAt(comment, place));
      const isOpen = open !== undefined && isAt({ ...open, text: '' }, place);
      return (
        <Fragment key={`${place.side} ${place.line}`}>
          {found.map((comment) => (
            <div key={comment.text} className="review-comment">
              <p className="plain-text">{comment.text}</p>
              <button type="button" className="link-button" onClick={() => onRemove(comment)}>
                {review.remove}
              </button>
            </div>
          ))}
          {isOpen ? (
            <CommentForm
              label={review.commentOn(place.line)}
              onCancel={() => setOpen(undefined)}
              onAdd={(text) => {
                onComment({ ...place, text });
                setOpen(undefined);
              }}
            />
          ) : null}
        </Fragment>
      );
    });
  };

  const pairs = useMemo(
    () => (layout === 'split' ? sideBySide(shown) : shown.map((_, i) => ({ left: i, right: i }))),
    [layout, shown],
  );
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the buttons in it */}
      <div className={`review-lines ${layout}`} onKeyDown={moveByArrow}>
        {pairs.map(({ left, right }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id, and never move
          <Fragment key={i}>
            {layout === 'unified' ? (
              half(left, 'both')
            ) : shown[left ?? right ?? 0]?.kind === 'hunk' ? (
              half(left, 'both')
            ) : (
              <div className="review-pair">
                {half(left, 'old')}
                {half(right, 'new')}
              </div>
            )}
            {below([left, right])}
          </Fragment>
        ))}
      </div>
      {lines.length > linesShown ? (
        <button type="button" className="expand-button" onClick={() => setAll(!all)}>
          {all ? items.showLess : items.showAll(lines.length)}
        </button>
      ) : null}
    </>
  );
}
