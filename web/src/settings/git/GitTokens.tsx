// The access tokens of git providers. They can be stored, replaced and removed, but are never shown.
import { useState } from 'react';
import type { GitProvider, Settings } from '../../../../src/client/parley.ts';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsRefresh } from '../../session/settings.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { EntryForm } from '../entries/EntryForm.tsx';
import { Entry, EntryButton, EntryList } from '../entries/EntryList.tsx';
import { SecretInput } from '../entries/SecretInput.tsx';
import { type EntryFormState, useEntryForm } from '../entries/useEntryForm.ts';
import { Card } from '../form/Section.tsx';

type Stored = Settings['provider_tokens_set'];

interface TokenFields {
  readonly host: string;
}

/** Checked here, because the service ignores an empty token without an error. */
class TokenMissing extends Error {}

function useTokenForm(stored: Stored) {
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
  readonly form: EntryFormState<TokenFields>;
  readonly title: string;
  readonly isSet: boolean;
}

function TokenForm({ form, title, isSet }: TokenFormProps) {
  const { git } = useSettingsTexts();
  const path = `provider_tokens.${form.entry}`;
  const token = form.secrets['token'] ?? '';
  const isMissing = form.error instanceof TokenMissing;
  return (
    <EntryForm
      title={title}
      form={form}
      atFields={isMissing || form.hasFieldError([`${path}.token`, `${path}.host`])}
      submit={git.save}
    >
      <SecretInput
        label={git.token}
        hint={isSet ? `${git.tokenHint} ${git.tokenUnchanged}` : git.tokenHint}
        value={token}
        onChange={(value) => form.setSecret('token', value || undefined)}
        error={isMissing && token.trim() === '' ? git.tokenMissing : form.fieldError(`${path}.token`)}
      />
      <TextField
        label={git.host}
        hint={git.hostHint}
        mono
        value={form.fields.host}
        onChange={(host) => form.set({ host })}
        error={form.fieldError(`${path}.host`)}
      />
    </EntryForm>
  );
}

interface TokenEntryProps {
  readonly provider: GitProvider;
  readonly stored: Stored;
  readonly form: EntryFormState<TokenFields>;
  readonly onRemove: () => void;
}

function TokenEntry({ provider, stored, form, onRemove }: TokenEntryProps) {
  const { git, add, remove } = useSettingsTexts();
  const name = git.providers[provider];
  const isSet = Object.hasOwn(stored, provider);
  const host = stored[provider] ?? '';
  const storedText = host === '' ? git.stored : git.storedFor(host);
  const isOpen = form.entry === provider;
  const actions = (
    <>
      <EntryButton
        label={isSet ? git.replace : add}
        entryName={name}
        onClick={() => form.open(provider, { host })}
      />
      {isSet ? <EntryButton label={remove} entryName={name} danger onClick={onRemove} /> : null}
    </>
  );
  return (
    <Entry name={name} facts={[isSet ? storedText : git.unset]} actions={isOpen ? undefined : actions}>
      {isOpen ? <TokenForm form={form} title={git.tokenOf(name)} isSet={isSet} /> : null}
    </Entry>
  );
}

interface RemoveProps {
  readonly which: GitProvider | 'all';
  readonly onClose: () => void;
}

function RemoveDialog({ which, onClose }: RemoveProps) {
  const { git, remove } = useSettingsTexts();
  const { gitProviders } = useParley();
  const refresh = useSettingsRefresh();
  const all = which === 'all';
  return (
    <ConfirmDialog
      title={all ? git.removeTitle : git.removeOneTitle}
      {...(all ? {} : { name: git.providers[which] })}
      action={all ? git.removeAll : remove}
      onConfirm={() => (all ? gitProviders.clear() : gitProviders.delete(which)).finally(refresh)}
      onClose={onClose}
    >
      <p className="muted">{all ? git.removeText : git.removeOneText}</p>
    </ConfirmDialog>
  );
}

export function GitTokens({ stored }: { readonly stored: Stored }) {
  const { git } = useSettingsTexts();
  const form = useTokenForm(stored);
  const [removing, setRemoving] = useState<GitProvider | 'all'>();
  const providers = Object.keys(git.providers) as GitProvider[];
  return (
    <Card title={git.tokens} lead={git.tokensLead} part>
      <EntryList>
        {providers.map((provider) => (
          <TokenEntry key={provider} {...{ provider, stored, form }} onRemove={() => setRemoving(provider)} />
        ))}
      </EntryList>
      {Object.keys(stored).length < 2 ? null : (
        <div className="row">
          <button type="button" className="button danger" onClick={() => setRemoving('all')}>
            {git.removeAll}
          </button>
        </div>
      )}
      {removing === undefined ? null : (
        <RemoveDialog which={removing} onClose={() => setRemoving(undefined)} />
      )}
    </Card>
  );
}
