// The frame of a form for one entry of a list: it takes the focus when it opens.
import { type ReactNode, useEffect, useRef } from 'react';
import { ErrorCallout } from '../parts/Callout.tsx';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { Form } from './Section.tsx';

interface EntryFrameProps {
  readonly title: string;
  readonly form: { readonly error: unknown; submit(): void; close(): void };
  /** Whether what is wrong is said at a field. */
  readonly atFields: boolean;
  readonly submit: string;
  /** Beside the buttons. */
  readonly extra?: ReactNode;
  readonly children: ReactNode;
}

export function EntryFrame({ title, form, atFields, submit, extra, children }: EntryFrameProps) {
  const texts = useSettingsTexts();
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => frame.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), []);
  return (
    <div className="entry-frame" ref={frame}>
      <Form className="entry-form" error={form.error} onSubmit={form.submit}>
        <h3>{title}</h3>
        {children}
        {atFields ? null : <ErrorCallout error={form.error} kept />}
        <div className="row">
          <button type="submit" className="button primary">
            {submit}
          </button>
          <button type="button" className="button" onClick={form.close}>
            {texts.cancel}
          </button>
          {extra}
        </div>
      </Form>
    </div>
  );
}
