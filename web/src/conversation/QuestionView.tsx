// The question whether the agent may do something, and its answer.
import { useMutation } from '@tanstack/react-query';
import { createContext, useCallback, useContext, useMemo, useRef, useState } from 'react';
import { type Decision, ParleyError } from '../../../src/client/parley.ts';
import { ErrorCallout } from '../components/Callout.tsx';
import { Icon } from '../components/Icon.tsx';
import { useShortcuts } from '../layout/shortcuts.ts';
import { useClearNetworkErrors } from '../live/networkErrors.ts';
import { useParley } from '../session/session.tsx';
import { useTexts } from '../texts/texts.tsx';
import type { Question } from './items.ts';
import { scrolledOnPurpose, useSeenWhole } from './seenWhole.ts';

/** Which conversation the things on the screen are of. */
export const ConversationId = createContext('');

function Answered({ answer }: { readonly answer: Question['answer'] }) {
  const { items } = useTexts();
  const text = {
    allow: items.allowed,
    allow_always: items.allowedAlways,
    reject: items.rejectedByYou,
    open: '',
    closed: '',
  }[answer];
  return text === '' ? null : <p className="answered">{text}</p>;
}

/** Who has answered by keys goes on in the timeline once the buttons are gone. */
function passFocus(question: HTMLElement | null) {
  return () => {
    if (question?.contains(document.activeElement))
      question.closest<HTMLElement>('.scroller')?.focus({ preventScroll: true });
  };
}

/** Whoever has just answered another question by a key has not read this one yet. */
const unreadMs = 500;

function isInSight(element: Element): boolean {
  const { x, y, width, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}

interface KeyOptions {
  readonly open: boolean;
  readonly answer: (decision: Decision) => void;
  /** Why it cannot be approved yet; shows the part that is left to see. */
  readonly showUnseen: (() => void) | undefined;
}

/** Keys that answer while it is open. What nobody has seen is shown first. */
function useAnswerKeys({ open, ...options }: KeyOptions) {
  const buttons = useRef<HTMLDivElement>(null);
  const newest = useRef(options);
  newest.current = options;
  const [shownAt] = useState(() => performance.now());
  useShortcuts(
    useMemo(() => {
      const by = (decision: Decision) => () => {
        if (buttons.current === null || performance.now() - shownAt < unreadMs) return;
        const { answer, showUnseen } = newest.current;
        if (decision !== 'reject' && showUnseen !== undefined) showUnseen();
        else if (isInSight(buttons.current)) answer(decision);
        else {
          buttons.current.dispatchEvent(new Event(scrolledOnPurpose, { bubbles: true }));
          buttons.current.scrollIntoView({ block: 'center' });
        }
      };
      return open ? { allow: by('allow'), reject: by('reject') } : {};
    }, [open, shownAt]),
  );
  return buttons;
}

export function QuestionView({ question }: { readonly question: Question }) {
  const { items } = useTexts();
  const parley = useParley();
  const id = useContext(ConversationId);
  const answer = useMutation({
    mutationFn: (decision: Decision) =>
      parley.conversations.confirm(id, { decision, question: question.event }),
  });
  useClearNetworkErrors(answer);
  const busy = answer.isPending || answer.isSuccess;
  const give = (decision: Decision) => busy || answer.mutate(decision);
  const { question: element, isSeen, showUnseen } = useSeenWhole(question.event);
  const buttons = useAnswerKeys({
    open: question.answer === 'open',
    answer: give,
    showUnseen: isSeen ? undefined : showUnseen,
  });
  const attach = useCallback(
    (fieldset: HTMLFieldSetElement | null) => {
      element.current = fieldset;
      const leave = passFocus(fieldset);
      return () => {
        leave();
        element.current = null;
      };
    },
    [element],
  );
  if (question.answer !== 'open') return <Answered answer={question.answer} />;
  const late = answer.error instanceof ParleyError && answer.error.code === 'nothing_to_confirm';
  const button = (decision: Decision, label: string, look: string, hint?: string) => {
    const isBlocked = !isSeen && decision !== 'reject';
    return (
      <button
        type="button"
        className={`button ${look}`}
        title={hint}
        // Not disabled, which would take the focus away.
        aria-disabled={busy || isBlocked}
        onClick={() => (isBlocked ? showUnseen() : give(decision))}
      >
        {label}
      </button>
    );
  };
  return (
    <fieldset ref={attach} className="question" aria-label={items.question}>
      <p>
        <Icon name="shield" /> <strong>{items.question}</strong>{' '}
        <span className="quiet">{items.risk[question.risk] ?? ''}</span>
      </p>
      <div className="buttons" ref={buttons}>
        {button('allow', items.allow, 'primary')}
        {button('allow_always', items.always[question.risk] ?? '', '', items.alwaysHint[question.risk])}
        {button('reject', items.reject, 'danger')}
      </div>
      {isSeen ? null : <p className="quiet">{items.scrollFirst}</p>}
      {late ? <p role="status">{items.answered}</p> : <ErrorCallout error={answer.error} />}
    </fieldset>
  );
}
