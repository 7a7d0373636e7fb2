// The form for a comment on a line.
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useTexts } from '../../texts/texts.tsx';
import { commentCharsMax } from './comments.ts';

interface CommentFormProps {
  readonly label: string;
  readonly onAdd: (text: string) => void;
  readonly onCancel: () => void;
}

export function CommentForm({ label, onAdd, onCancel }: CommentFormProps) {
  const { review } = useTexts();
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const isReady = text.trim() !== '';

  function onKey(event: KeyboardEvent) {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && isReady) onAdd(text.trim());
    else if (event.key === 'Escape' && text === '') onCancel();
    else return;
    event.preventDefault();
  }

  return (
    <form
      className="review-comment"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) onAdd(text.trim());
      }}
    >
      <textarea
        ref={field}
        aria-label={label}
        rows={2}
        maxLength={commentCharsMax}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <button type="submit" className="button" disabled={!isReady}>
        {review.add}
      </button>
      <button type="button" className="button plain" onClick={onCancel}>
        {review.cancel}
      </button>
    </form>
  );
}
