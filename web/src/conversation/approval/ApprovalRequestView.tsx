// An approval request: its risk, the buttons that answer it, and the answer.
import { useMutation } from '@tanstack/react-query';
import { useCallback, useContext, useMemo, useRef, useState } from 'react';
import { type Decision, ParleyError } from '../../../../src/client/parley.ts';
import { ErrorCallout } from '../../components/Callout.tsx';
import { Icon } from '../../components/Icon.tsx';
import { useShortcuts } from '../../layout/shortcuts.ts';
import { useClearNetworkErrors } from '../../live/networkErrors.ts';
import { useParley } from '../../session/session.tsx';
import { useTexts } from '../../texts/texts.tsx';
import { ConversationId } from '../conversationQueries.ts';
import type { ApprovalRequest } from '../items.ts';
import { useFullyViewed, userScrollEvent } from './fullyViewed.ts';

function AnswerText({ answer }: { readonly answer: ApprovalRequest['answer'] }) {
  const { items } = useTexts();
  const text = {
    allow: items.allowed,
    allow_always: items.allowedAlways,
    reject: items.rejectedByYou,
    open: '',
    closed: '',
  }[answer];
  return text === '' ? null : <p className="approval-answer">{text}</p>;
}

/** Moves the focus to the timeline when the focused button is about to disappear. */
function focusTimeline(approval: HTMLElement | null): void {
  if (approval?.contains(document.activeElement))
    approval.closest<HTMLElement>('.scroller')?.focus({ preventScroll: true });
}

/** Shortcuts work only after this time: a key press that was meant for the previous request must not answer this one. */
const shortcutDelayMs = 500;

function isVisible(element: Element): boolean {
  const { x, y, width, height } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
}

interface ShortcutOptions {
  readonly isOpen: boolean;
  readonly answer: (decision: Decision) => void;
  /** Undefined if the user has seen the whole request. */
  readonly scrollToUnviewed: (() => void) | undefined;
}

/** Registers the shortcuts that answer the request. Parts that the user has not seen are scrolled into view first. */
function useApprovalShortcuts({ isOpen, ...options }: ShortcutOptions) {
  const buttons = useRef<HTMLDivElement>(null);
  const newest = useRef(options);
  newest.current = options;
  const [shownAt] = useState(() => performance.now());
  useShortcuts(
    useMemo(() => {
      const handlerOf = (decision: Decision) => () => {
        if (buttons.current === null || performance.now() - shownAt < shortcutDelayMs) return;
        const { answer, scrollToUnviewed } = newest.current;
        if (decision !== 'reject' && scrollToUnviewed !== undefined) scrollToUnviewed();
        else if (isVisible(buttons.current)) answer(decision);
        else {
          buttons.current.dispatchEvent(new Event(userScrollEvent, { bubbles: true }));
          buttons.current.scrollIntoView({ block: 'center' });
        }
      };
      return isOpen ? { allow: handlerOf('allow'), reject: handlerOf('reject') } : {};
    }, [isOpen, shownAt]),
  );
  return buttons;
}

export function ApprovalRequestView({ request }: { readonly request: ApprovalRequest }) {
  const { items } = useTexts();
  const parley = useParley();
  const id = useContext(ConversationId);
  const confirmation = useMutation({
    mutationFn: (decision: Decision) =>
      parley.conversations.confirm(id, { decision, question: request.event }),
  });
  useClearNetworkErrors(confirmation);
  const isAnswered = confirmation.isPending || confirmation.isSuccess;
  const answer = (decision: Decision) => isAnswered || confirmation.mutate(decision);
  const { approval, isFullyViewed, scrollToUnviewed } = useFullyViewed(request.event);
  const buttons = useApprovalShortcuts({
    isOpen: request.answer === 'open',
    answer,
    scrollToUnviewed: isFullyViewed ? undefined : scrollToUnviewed,
  });
  const attach = useCallback(
    (fieldset: HTMLFieldSetElement | null) => {
      approval.current = fieldset;
      return () => {
        focusTimeline(fieldset);
        approval.current = null;
      };
    },
    [approval],
  );
  if (request.answer !== 'open') return <AnswerText answer={request.answer} />;
  const isTooLate =
    confirmation.error instanceof ParleyError && confirmation.error.code === 'nothing_to_confirm';
  const button = (decision: Decision, label: string, variant: string, hint?: string) => {
    const isBlocked = !isFullyViewed && decision !== 'reject';
    return (
      <button
        type="button"
        className={`button ${variant}`}
        title={hint}
        // A disabled button would lose the focus.
        aria-disabled={isAnswered || isBlocked}
        onClick={() => (isBlocked ? scrollToUnviewed() : answer(decision))}
      >
        {label}
      </button>
    );
  };
  return (
    <fieldset ref={attach} className="approval-request" aria-label={items.approvalRequest}>
      <p>
        <Icon name="shield" /> <strong>{items.approvalRequest}</strong>{' '}
        <span className="muted">{items.risk[request.risk] ?? ''}</span>
      </p>
      <div className="buttons" ref={buttons}>
        {button('allow', items.allow, 'primary')}
        {button('allow_always', items.always[request.risk] ?? '', '', items.alwaysHint[request.risk])}
        {button('reject', items.reject, 'danger')}
      </div>
      {isFullyViewed ? null : <p className="muted">{items.scrollFirst}</p>}
      {isTooLate ? <p role="status">{items.answered}</p> : <ErrorCallout error={confirmation.error} />}
    </fieldset>
  );
}
