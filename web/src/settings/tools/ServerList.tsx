// The tool servers as a list, each of which can be checked, changed and removed.
import { useState } from 'react';
import type { Settings } from '../../../../src/client/parley.ts';
import { BusyButton } from '../../parts/BusyButton.tsx';
import { ErrorCallout } from '../../parts/Callout.tsx';
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx';
import { useSettingsUpdate } from '../../session/settings.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { Entries, Entry, EntryAction } from '../Entries.tsx';
import { CheckResult } from './CheckResult.tsx';
import { useCheck } from './check.ts';
import { ServerForm, useServerForm } from './ServerForm.tsx';
import {
  findServer,
  isStdio,
  listServers,
  newServer,
  type PlacedServer,
  serverName,
  toFields,
  withServer,
} from './servers.ts';

type Config = Settings['mcp_config'];

interface RemoveProps {
  readonly config: Config;
  readonly placed: PlacedServer;
  readonly onClose: () => void;
}

function RemoveDialog({ config, placed, onClose }: RemoveProps) {
  const texts = useSettingsTexts();
  const update = useSettingsUpdate();

  async function remove() {
    const now = findServer(config, placed.id);
    // Somebody else was faster.
    if (now === undefined) return;
    await update.mutateAsync({ mcp_config: withServer(config, now, undefined) });
  }

  return (
    <ConfirmDialog
      title={texts.tools.removeTitle}
      name={serverName(placed.server)}
      action={texts.remove}
      onConfirm={remove}
      onClose={onClose}
    >
      <p className="quiet">{texts.tools.removeText}</p>
    </ConfirmDialog>
  );
}

interface ServerEntryProps {
  readonly config: Config;
  readonly placed: PlacedServer;
  readonly form: ReturnType<typeof useServerForm>;
  readonly check: ReturnType<typeof useCheck>;
  readonly onRemove: () => void;
}

function ServerEntry({ config, placed, form, check, onRemove }: ServerEntryProps) {
  const texts = useSettingsTexts();
  const { id, kind, server } = placed;
  const name = serverName(server);
  const known = isStdio(server)
    ? [server.command, ...(server.args ?? [])].join(' ')
    : server.api_key == null
      ? null
      : texts.tools.withKey;
  const actions = (
    <>
      <EntryAction
        label={texts.tools.check}
        of={name}
        busy={check.isChecking(id)}
        onClick={() => check.checkOne(placed)}
      />
      <EntryAction label={texts.change} of={name} onClick={() => form.open(id, toFields(placed))} />
      <EntryAction label={texts.remove} of={name} danger onClick={onRemove} />
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
  const check = useCheck(config);
  const [removing, setRemoving] = useState<PlacedServer>();
  const servers = listServers(config);
  const isStored = findServer(config, form.entry) !== undefined;
  return (
    <>
      <Entries empty={texts.empty}>
        {servers.map((placed) => (
          <ServerEntry
            key={placed.id}
            {...{ config, placed, form, check }}
            onRemove={() => setRemoving(placed)}
          />
        ))}
      </Entries>
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
        <RemoveDialog config={config} placed={removing} onClose={() => setRemoving(undefined)} />
      )}
    </>
  );
}
