// The frame of one section: its heading, its fields, and the bar that saves them.
import type { ReactNode } from 'react';
import type { SettingsForm } from './form.ts';
import { SaveBar } from './SaveBar.tsx';

interface SectionProps {
  readonly title: string;
  readonly lead: string;
  readonly form: SettingsForm;
  readonly children: ReactNode;
}

export function Section({ title, lead, form, children }: SectionProps) {
  return (
    <form
      className="section"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        form.save();
      }}
    >
      <header>
        <h2>{title}</h2>
        <p className="quiet">{lead}</p>
      </header>
      {children}
      <SaveBar form={form} />
    </form>
  );
}
