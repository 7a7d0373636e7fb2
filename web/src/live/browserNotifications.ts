// Notifications of the browser for approval requests, while the user looks elsewhere. They are off until the user turns
// them on in the settings.
import { useCallback } from 'react';
import { useLocation } from 'wouter';
import { visibleLine } from '../components/visibleText.ts';
import { getPreferences, setPreferences } from '../layout/preferences.ts';
import { useTexts } from '../texts/texts.tsx';

export type NotificationSupport = NotificationPermission | 'unsupported';

export function notificationSupport(): NotificationSupport {
  return 'Notification' in window ? Notification.permission : 'unsupported';
}

/** Must be called in a click, because browsers ignore the question otherwise. */
export async function turnOnNotifications(): Promise<void> {
  const permission = await Notification.requestPermission();
  setPreferences({ notifications: permission === 'granted' });
}

function isLookingElsewhere(): boolean {
  return document.visibilityState === 'hidden' || !document.hasFocus();
}

/** Returns a function that notifies of an approval request. A click on the notification shows the conversation. */
export function useApprovalNotification(): (id: string, title: string | null | undefined) => void {
  const { shell } = useTexts();
  const [, go] = useLocation();
  return useCallback(
    (id, title) => {
      if (!getPreferences().notifications || notificationSupport() !== 'granted' || !isLookingElsewhere())
        return;
      try {
        const shown = new Notification(shell.approvalNotification, {
          body: visibleLine(title ?? ''),
          tag: id,
        });
        shown.onclick = () => {
          window.focus();
          go(`/conversations/${encodeURIComponent(id)}`);
          shown.close();
        };
      } catch {
        // Some mobile browsers have the class, but do not allow it.
      }
    },
    [shell, go],
  );
}
