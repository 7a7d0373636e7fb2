// The list of MCP servers, each of which can be checked, changed and removed.
import { useState } from 'react';
import type { Settings } from '../../../../src/client/parley.ts';
import { BusyButton } from '../../components/BusyButton.tsx';
import { ErrorCallout } from '../../components/Callout.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { useSettingsUpdate } from '../../session/settings.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { Entry, EntryButton, EntryList } from '../entries/EntryList.tsx';
import { CheckResult } from './CheckResult.tsx';
import { ServerForm, useServerForm } from './ServerForm.tsx';
import {
  findServer,
  isStdio,
  type ListedServer,
  listServers,
  newServer,
  serverName,
  toFields,
  withServer,
} from './servers.ts';
import { useServerCheck } from './useServerCheck.ts';

type Config = Settings['mcp_config'];

interface RemoveProps {
  readonly config: Config;
  readonly listed: ListedServer;
  readonly onClose: () => void;
}

function RemoveDialog({ config, listed, onClose }: RemoveProps) {
  const texts = useSettingsTexts();
  const update = useSettingsUpdate();

  async function remove() {
    const now = findServer(config, listed.id);
    // It has been removed elsewhere meanwhile.
    if (now === undefined) return;
    await update.mutateAsync({ mcp_config: withServer(config, now, undefined) });
  }

  return (
    <ConfirmDialog
      title={texts.tools.removeTitle}
      name={serverName(listed.server)}
      action={texts.remove}
      onConfirm={remove}
      onClose={onClose}
    >
      <p className="muted">{texts.tools.removeText}</p>
    </ConfirmDialog>
  );
}

interface ServerEntryProps {
  readonly config: Config;
  readonly listed: ListedServer;
  readonly form: ReturnType<typeof useServerForm>;
  readonly check: ReturnType<typeof useServerCheck>;
  readonly onRemove: () => void;
}

function ServerEntry({ config, listed, form, check, onRemove }: ServerEntryProps) {
  const texts = useSettingsTexts();
  const { id, kind, server } = listed;
  const name = serverName(server);
  const known = isStdio(server)
    ? [server.command, ...(server.args ?? [])].join(' ')
    : server.api_key == null
      ? null
      : texts.tools.withKey;
  const actions = (
    <>
      <EntryButton
        label={texts.tools.check}
        entryName={name}
        busy={check.isChecking(id)}
        onClick={() => check.checkOne(listed)}
      />
      <EntryButton label={texts.change} entryName={name} onClick={() => form.open(id, toFields(listed))} />
      <EntryButton label={texts.remove} entryName={name} danger onClick={onRemove} />
    </>
  );
  const isOpen = form.entry === id;
  return (
    <Entry name={name} mono facts={[texts.tools.kinds[kind], known]} actions={isOpen ? undefined : actions}>
      {isOpen ? (
        <ServerForm form={form} config={config} />
      ) : (
        <CheckResult checking={check.isChecking(id)} result={check.resultOf(id)} />
      )}
    </Entry>
  );
}

export function ServerList({ config }: { readonly config: Config }) {
  const { tools: texts } = useSettingsTexts();
  const form = useServerForm(config);
  const check = useServerCheck(config);
  const [removing, setRemoving] = useState<ListedServer>();
  const servers = listServers(config);
  const isStored = findServer(config, form.entry) !== undefined;
  return (
    <>
      <EntryList empty={texts.empty}>
        {servers.map((listed) => (
          <ServerEntry
            key={listed.id}
            {...{ config, listed, form, check }}
            onRemove={() => setRemoving(listed)}
          />
        ))}
      </EntryList>
      <ErrorCallout error={check.error} />
      {form.entry !== null && !isStored ? (
        <ServerForm form={form} config={config} />
      ) : (
        <div className="row">
          <button type="button" className="button" onClick={() => form.open('', newServer)}>
            {texts.add}
          </button>
          {servers.length > 1 ? (
            <BusyButton busy={check.busy} onClick={check.checkAll}>
              {texts.checkAll}
            </BusyButton>
          ) : null}
        </div>
      )}
      {removing === undefined ? null : (
        <RemoveDialog config={config} listed={removing} onClose={() => setRemoving(undefined)} />
      )}
    </>
  );
}
