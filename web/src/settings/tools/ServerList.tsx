// The tool servers as a list, each of which can be checked, changed and removed.
import { useState } from 'react';
import type { Settings } from '../../../../src/client/parley.ts';
import { ErrorCallout } from '../../parts/Callout.tsx';
import { useSettingsUpdate } from '../../session/settings.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { ConfirmDialog } from '../ConfirmDialog.tsx';
import { Entries, Entry, EntryAction } from '../Entries.tsx';
import { CheckResult } from './CheckResult.tsx';
import { useCheck } from './check.ts';
import { ServerForm, useServerForm } from './ServerForm.tsx';
import {
  isStdio,
  listServers,
  newServer,
  type PlacedServer,
  serverName,
  toFields,
  withServer,
} from './servers.ts';

type Config = Settings['mcp_config'];

function useFacts(): (placed: PlacedServer) => (string | null)[] {
  const { tools: texts } = useSettingsTexts();
  return ({ kind, server }) => [
    texts.kinds[kind],
    isStdio(server)
      ? [server.command, ...(server.args ?? [])].join(' ')
      : server.api_key == null
        ? null
        : texts.withKey,
  ];
}

interface RemoveProps {
  readonly config: Config;
  readonly placed: PlacedServer;
  readonly onClose: () => void;
}

function RemoveDialog({ config, placed, onClose }: RemoveProps) {
  const texts = useSettingsTexts();
  const update = useSettingsUpdate();
  return (
    <ConfirmDialog
      title={texts.tools.removeTitle}
      name={serverName(placed.server)}
      action={texts.remove}
      onConfirm={() => update.mutateAsync({ mcp_config: withServer(config, placed, undefined) })}
      onClose={onClose}
    >
      <p className="quiet">{texts.tools.removeText}</p>
    </ConfirmDialog>
  );
}

export function ServerList({ config }: { readonly config: Config }) {
  const texts = useSettingsTexts();
  const form = useServerForm(config);
  const check = useCheck(config);
  const factsOf = useFacts();
  const [removing, setRemoving] = useState<PlacedServer>();
  const servers = listServers(config);
  const isStored = servers.some(({ id }) => id === form.entry);
  return (
    <>
      <Entries empty={texts.tools.empty}>
        {servers.map((placed) => {
          const { id, server } = placed;
          const name = serverName(server);
          return (
            <Entry
              key={id}
              name={name}
              mono
              facts={factsOf(placed)}
              actions={
                form.entry === id ? undefined : (
                  <>
                    <EntryAction
                      label={texts.tools.check}
                      of={name}
                      busy={check.isChecking(id)}
                      onClick={() => check.checkOne(placed)}
                    />
                    <EntryAction
                      label={texts.change}
                      of={name}
                      onClick={() => form.open(id, toFields(placed))}
                    />
                    <EntryAction label={texts.remove} of={name} danger onClick={() => setRemoving(placed)} />
                  </>
                )
              }
            >
              {form.entry === id ? (
                <ServerForm form={form} config={config} />
              ) : (
                <CheckResult checking={check.isChecking(id)} result={check.resultOf(id)} />
              )}
            </Entry>
          );
        })}
      </Entries>
      <ErrorCallout error={check.error} />
      {form.entry !== null && !isStored ? (
        <ServerForm form={form} config={config} />
      ) : (
        <div className="row">
          <button type="button" className="button" onClick={() => form.open('', newServer)}>
            {texts.tools.add}
          </button>
          {servers.length > 1 ? (
            <button type="button" className="button" onClick={check.checkAll}>
              {texts.tools.checkAll}
            </button>
          ) : null}
        </div>
      )}
      {removing === undefined ? null : (
        <RemoveDialog config={config} placed={removing} onClose={() => setRemoving(undefined)} />
      )}
    </>
  );
}
