// The form for one entry of a list, with its title, error and buttons. It takes the focus when it opens.
import { type ReactNode, useEffect, useRef } from 'react';
import { BusyButton } from '../../components/BusyButton.tsx';
import { ErrorCallout } from '../../components/Callout.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useTexts } from '../../texts/texts.tsx';
import { Form } from '../form/Section.tsx';
import type { EntryFormState } from './useEntryForm.ts';

interface EntryFormProps {
  readonly title: string;
  readonly form: Pick<EntryFormState<object>, 'busy' | 'error' | 'submit' | 'close'>;
  /** Whether a field shows the error. */
  readonly atFields: boolean;
  readonly submit: string;
  /** More buttons. */
  readonly extra?: ReactNode;
  readonly children: ReactNode;
}

export function EntryForm({ title, form, atFields, submit, extra, children }: EntryFormProps) {
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
          <BusyButton type="submit" variant="primary" busy={form.busy} busyText={saving}>
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
