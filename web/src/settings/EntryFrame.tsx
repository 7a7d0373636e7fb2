// The frame of a form for one entry of a list: it takes the focus when it opens.
import { type ReactNode, useEffect, useRef } from 'react';
import { BusyButton } from '../parts/BusyButton.tsx';
import { ErrorCallout } from '../parts/Callout.tsx';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { useTexts } from '../texts/texts.tsx';
import type { EntryForm } from './entry.ts';
import { Form } from './Section.tsx';

interface EntryFrameProps {
  readonly title: string;
  readonly form: Pick<EntryForm<object>, 'busy' | 'error' | 'submit' | 'close'>;
  /** Whether what is wrong is said at a field. */
  readonly atFields: boolean;
  readonly submit: string;
  /** Beside the buttons. */
  readonly extra?: ReactNode;
  readonly children: ReactNode;
}

export function EntryFrame({ title, form, atFields, submit, extra, children }: EntryFrameProps) {
  const { saving } = useSettingsTexts();
  const { shell } = useTexts();
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => frame.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), []);
  return (
    <div className="entry-frame" ref={frame}>
      <Form className="entry-form" error={form.error} onSubmit={form.submit}>
        <h3>{title}</h3>
        {children}
        {atFields ? null : <ErrorCallout error={form.error} kept />}
        <div className="row">
          <BusyButton type="submit" look="primary" busy={form.busy} busyText={saving}>
            {submit}
          </BusyButton>
          <button type="button" className="button" onClick={form.close}>
            {shell.cancel}
          </button>
          {extra}
        </div>
      </Form>
    </div>
  );
}
