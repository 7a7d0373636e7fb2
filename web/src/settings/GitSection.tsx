// Git: whose name is on commits, and the tokens of providers.
import { useState } from 'react';
import type { GitProvider, Settings } from '../../../src/client/parley.ts';
import { TextField } from '../parts/fields.tsx';
import { useParley } from '../session/session.tsx';
import { useSettingsTexts } from '../texts/settings/texts.ts';
import { ConfirmDialog } from './ConfirmDialog.tsx';
import { Entries, Entry, EntryAction } from './Entries.tsx';
import { EntryFrame } from './EntryFrame.tsx';
import { type EntryForm, useEntryForm } from './entry.ts';
import { useSettingsForm } from './form.ts';
import { TextMemberField } from './members.tsx';
import { useSettingsRefresh } from './refresh.ts';
import { SecretInput } from './SecretInput.tsx';
import { Panel, Section } from './Section.tsx';
import type { SectionProps } from './sections.ts';

interface TokenFields {
  readonly host: string;
}

/** Said without asking the service, which would store nothing and say nothing. */
class TokenMissing extends Error {}

function useTokenForm(stored: Settings['provider_tokens_set']) {
  const parley = useParley();
  const refresh = useSettingsRefresh();
  return useEntryForm<TokenFields>('gitToken', {
    empty: { host: '' },
    send: async ({ entry, fields, secrets }) => {
      const token = secrets['token'] ?? '';
      if (token.trim() === '' && !Object.hasOwn(stored, entry)) throw new TokenMissing();
      await parley.gitProviders.set({ [entry]: { token, host: fields.host } });
      await refresh();
    },
  });
}

interface TokenFormProps {
  readonly form: EntryForm<TokenFields>;
  readonly title: string;
  readonly isSet: boolean;
}

function TokenForm({ form, title, isSet }: TokenFormProps) {
  const texts = useSettingsTexts();
  const path = `provider_tokens.${form.entry}`;
  const missing = form.error instanceof TokenMissing ? texts.git.tokenMissing : undefined;
  const faults = { token: missing ?? form.fault(`${path}.token`), host: form.fault(`${path}.host`) };
  return (
    <EntryFrame
      title={title}
      form={form}
      atFields={faults.token !== undefined || faults.host !== undefined}
      submit={texts.git.save}
    >
      <SecretInput
        label={texts.git.token}
        hint={isSet ? `${texts.git.tokenHint} ${texts.git.tokenKept}` : texts.git.tokenHint}
        value={form.secrets['token'] ?? ''}
        onChange={(value) => form.setSecret('token', value || undefined)}
        fault={faults.token}
      />
      <TextField
        label={texts.git.host}
        hint={texts.git.hostHint}
        mono
        value={form.fields.host}
        onChange={(host) => form.set({ host })}
        fault={faults.host}
      />
    </EntryFrame>
  );
}

function Tokens({ settings }: SectionProps) {
  const texts = useSettingsTexts();
  const { git } = texts;
  const parley = useParley();
  const refresh = useSettingsRefresh();
  const stored = settings.provider_tokens_set;
  const form = useTokenForm(stored);
  const [removing, setRemoving] = useState(false);
  const names = Object.keys(git.providers) as GitProvider[];

  function state(host: string | null | undefined): string {
    if (host === undefined) return git.unset;
    return host === null ? git.stored : git.storedFor(host);
  }

  return (
    <Panel title={git.tokens} lead={git.tokensLead} part>
      <Entries>
        {names.map((name) => (
          <Entry
            key={name}
            name={git.providers[name]}
            facts={[state(stored[name])]}
            actions={
              form.entry === name ? undefined : (
                <EntryAction
                  label={Object.hasOwn(stored, name) ? git.replace : texts.add}
                  of={git.providers[name]}
                  onClick={() => form.open(name, { host: stored[name] ?? '' })}
                />
              )
            }
          >
            {form.entry === name ? (
              <TokenForm
                key={name}
                form={form}
                title={git.tokenOf(git.providers[name])}
                isSet={Object.hasOwn(stored, name)}
              />
            ) : null}
          </Entry>
        ))}
      </Entries>
      {Object.keys(stored).length === 0 ? null : (
        <div className="row">
          <button type="button" className="button danger" onClick={() => setRemoving(true)}>
            {git.removeAll}
          </button>
        </div>
      )}
      {removing ? (
        <ConfirmDialog
          title={git.removeTitle}
          action={git.removeAll}
          onConfirm={() => parley.gitProviders.clear().then(refresh)}
          onClose={() => setRemoving(false)}
        >
          <p className="quiet">{git.removeText}</p>
        </ConfirmDialog>
      ) : null}
    </Panel>
  );
}

export function GitSection({ settings }: SectionProps) {
  const { git } = useSettingsTexts();
  const form = useSettingsForm('git', settings);
  return (
    <>
      <Section title={git.title} lead={git.lead} form={form}>
        <TextMemberField form={form} name="git_user_name" />
        <TextMemberField form={form} name="git_user_email" type="email" />
      </Section>
      <Tokens settings={settings} />
    </>
  );
}
