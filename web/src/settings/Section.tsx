// The frame of one section: its heading and its fields; one that changes the settings record has the bar that saves.
import { type ReactNode, useEffect, useRef } from 'react';
import type { SettingsForm } from './form.ts';
import { SaveBar } from './SaveBar.tsx';

interface HeadProps {
  readonly title: string;
  readonly lead?: string;
}

interface PanelProps extends HeadProps {
  readonly children: ReactNode;
}

/** A card with a heading. `part` is one of several in a section. */
export function Panel({ title, lead, part = false, children }: PanelProps & { readonly part?: boolean }) {
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
      {lead === undefined ? null : <p className="quiet">{lead}</p>}
    </header>
  );
}

/** Fields that belong together, under a heading of their own. */
export function Group({ title, lead, children }: PanelProps) {
  return (
    <fieldset className="group">
      <legend>{title}</legend>
      {lead === undefined ? null : <p className="quiet">{lead}</p>}
      {children}
    </fieldset>
  );
}

/** Goes to the first field that something is said against. */
function useFaultFocus(failures: unknown) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failures !== undefined && failures !== null)
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid]')?.focus();
  }, [failures]);
  return form;
}

interface FormProps {
  readonly className: string;
  /** Of the last try. */
  readonly error: unknown;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}

/** The service checks what is typed, not the browser. */
export function Form({ className, error, onSubmit, children }: FormProps) {
  const form = useFaultFocus(error);
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

interface FormSectionProps extends PanelProps {
  readonly form: SettingsForm;
  readonly part?: boolean;
}

export function Section({ title, lead, form, part = false, children }: FormSectionProps) {
  return (
    <Form className="section" error={form.failure} onSubmit={form.save}>
      <Head title={title} lead={lead} level={part ? 3 : 2} />
      {children}
      <SaveBar form={form} />
    </Form>
  );
}
