// The layout of a section: cards, groups of fields, and forms that save.
import { type ReactNode, useEffect, useRef } from 'react';
import { SaveBar } from './SaveBar.tsx';
import type { SettingsForm } from './useSettingsForm.ts';

interface HeadProps {
  readonly title: string;
  readonly lead?: string;
}

interface CardProps extends HeadProps {
  readonly children: ReactNode;
}

/** `part`: one of several cards of a section, with a smaller heading. */
export function Card({ title, lead, part = false, children }: CardProps & { readonly part?: boolean }) {
  return (
    <section className="section">
      <Head title={title} lead={lead} level={part ? 3 : 2} />
      {children}
    </section>
  );
}

function Head({ title, lead, level }: { title: string; lead: string | undefined; level: 2 | 3 }) {
  const Heading = `h${level}` as const;
  return (
    <header>
      <Heading>{title}</Heading>
      {lead === undefined ? null : <p className="muted">{lead}</p>}
    </header>
  );
}

export function Group({ title, lead, children }: CardProps) {
  return (
    <fieldset className="group">
      <legend>{title}</legend>
      {lead === undefined ? null : <p className="muted">{lead}</p>}
      {children}
    </fieldset>
  );
}

/** Focuses the first invalid field after each failure. */
function useFocusOnError(failure: unknown) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failure !== undefined && failure !== null)
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid]')?.focus();
  }, [failure]);
  return form;
}

interface FormProps {
  readonly className: string;
  /** The error of the last attempt. */
  readonly error: unknown;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}

/** The service validates the input, not the browser. */
export function Form({ className, error, onSubmit, children }: FormProps) {
  const form = useFocusOnError(error);
  return (
    <form
      ref={form}
      className={className}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

interface SectionProps extends CardProps {
  readonly form: SettingsForm;
  readonly part?: boolean;
}

/** A form for fields of the settings record. */
export function Section({ title, lead, form, part = false, children }: SectionProps) {
  return (
    <Form className="section" error={form.failure} onSubmit={form.save}>
      <Head title={title} lead={lead} level={part ? 3 : 2} />
      {children}
      <SaveBar form={form} />
    </Form>
  );
}
