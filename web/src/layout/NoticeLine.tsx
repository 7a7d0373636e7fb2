// Shows the notice for a while, with a button that undoes what was done.
import { useEffect } from 'react';
import { useTexts } from '../texts/texts.tsx';
import { showNotice, useNotice } from './notices.ts';

const shownMs = 10_000;

export function NoticeLine() {
  const { sidebar } = useTexts();
  const notice = useNotice();
  useEffect(() => {
    if (notice === undefined) return;
    const timer = setTimeout(() => showNotice(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [notice]);
  return (
    <div className={notice === undefined ? 'notice-line visually-hidden' : 'notice-line'}>
      <span role="status">{notice?.text ?? ''}</span>
      {notice?.undo === undefined ? null : (
        <button type="button" className="link-button" onClick={notice.undo}>
          {sidebar.undo}
        </button>
      )}
    </div>
  );
}
