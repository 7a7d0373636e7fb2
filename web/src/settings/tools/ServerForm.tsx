// The form of one tool server, of any of the three kinds. It can be checked before it is saved.
import { useMutation } from '@tanstack/react-query';
import type { McpConfig, Settings } from '../../../../src/client/parley.ts';
import { BusyButton } from '../../parts/BusyButton.tsx';
import { Callout, ErrorCallout } from '../../parts/Callout.tsx';
import { SelectField, TextArea, TextField } from '../../parts/fields.tsx';
import { SecretField } from '../../parts/SecretField.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsUpdate } from '../../session/settings.ts';
import { faultsAt } from '../../texts/errors.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { EntryFrame } from '../EntryFrame.tsx';
import { type EntryForm, type Typed, useEntryForm } from '../entry.ts';
import { CheckResult } from './CheckResult.tsx';
import { EnvFields } from './EnvFields.tsx';
import {
  envSecret,
  findServer,
  type Kind,
  kinds,
  newServer,
  type PlacedServer,
  placeId,
  placeOf,
  type ServerFields,
  serverName,
  storableFields,
  toServer,
  withServer,
} from './servers.ts';

type Config = Settings['mcp_config'];

export function useServerForm(config: Config) {
  const update = useSettingsUpdate();
  return useEntryForm<ServerFields, unknown>('toolServer', {
    empty: newServer,
    storable: storableFields,
    send: ({ entry, fields, secrets }: Typed<ServerFields>) => {
      const server = toServer(fields, secrets, findServer(config, entry)?.server);
      return update.mutateAsync({
        mcp_config: withServer(config, placeOf(config, entry, fields.kind), server),
      });
    },
  });
}

type FaultAt = (member: string) => string | undefined;

function RemoteFields({ form, at }: { readonly form: EntryForm<ServerFields>; readonly at: FaultAt }) {
  const { tools: texts } = useSettingsTexts();
  const { url, timeout, kind, hasKey } = form.fields;
  return (
    <>
      <TextField
        label={texts.url}
        hint={texts.urlHint}
        type="url"
        mono
        value={url}
        onChange={(typed) => form.set({ url: typed })}
        fault={at('url')}
      />
      <SecretField
        label={texts.api_key}
        hint={hasKey ? `${texts.api_keyHint} ${texts.api_keyAgain}` : texts.api_keyHint}
        isSet={hasKey}
        value={form.secrets['api_key']}
        onChange={(value) => form.setSecret('api_key', value)}
        fault={at('api_key')}
      />
      {kind === 'shttp_servers' ? (
        <TextField
          label={texts.timeout}
          hint={texts.timeoutHint}
          value={timeout}
          onChange={(typed) => form.set({ timeout: typed })}
          fault={at('timeout')}
        />
      ) : null}
    </>
  );
}

function StdioFields({ form, at }: { readonly form: EntryForm<ServerFields>; readonly at: FaultAt }) {
  const { tools: texts } = useSettingsTexts();
  const { name, command, args } = form.fields;
  return (
    <>
      <TextField
        label={texts.name}
        hint={texts.nameHint}
        mono
        value={name}
        onChange={(typed) => form.set({ name: typed })}
        fault={at('name')}
      />
      <TextField
        label={texts.command}
        hint={texts.commandHint}
        mono
        value={command}
        onChange={(typed) => form.set({ command: typed })}
        fault={at('command')}
      />
      <TextArea
        label={texts.args}
        hint={texts.argsHint}
        mono
        value={args}
        onChange={(typed) => form.set({ args: typed })}
        fault={at('args')}
      />
      <EnvFields form={form} fault={at('env')} />
    </>
  );
}

/** Tries out what is typed; nothing of it is stored. What came of it holds until something else is typed. */
function useTypedCheck({ fields, secrets }: EntryForm<ServerFields>, stored: PlacedServer | undefined) {
  const parley = useParley();
  const checking = useMutation({
    mutationFn: async (typed: Pick<Typed<ServerFields>, 'fields' | 'secrets'>) => {
      const server = toServer(typed.fields, typed.secrets, stored?.server);
      const { servers } = await parley.mcp.check({ [typed.fields.kind]: [server] } as McpConfig);
      return servers[0];
    },
  });
  const { isPending, variables } = checking;
  const holds = variables?.fields === fields && variables.secrets === secrets;
  return {
    busy: isPending,
    error: holds ? checking.error : null,
    result: holds ? checking.data : undefined,
    check: () => !isPending && checking.mutate({ fields, secrets }),
  };
}

const members = ['url', 'api_key', 'timeout', 'name', 'command', 'args', 'env'];

/** What a fault of a member hangs on: a stored secret is bound to the address or name of its server. */
function causesOf(member: string, { env }: ServerFields): string[] {
  if (member === 'api_key') return ['api_key', 'url'];
  return member === 'env' ? ['env', 'name', ...env.map(({ id }) => envSecret(id))] : [member];
}

interface ServerFormProps {
  readonly form: EntryForm<ServerFields>;
  readonly config: Config;
}

export function ServerForm({ form, config }: ServerFormProps) {
  const { tools: texts, change, of } = useSettingsTexts();
  const stored = findServer(config, form.entry);
  const { busy, error, result, check } = useTypedCheck(form, stored);
  const { kind } = form.fields;
  const saved = `mcp_config.${placeId(placeOf(config, form.entry, kind))}`;
  // What is checked is sent alone, at the first place.
  const checked = `mcp_config.${placeId({ kind, index: 0 })}`;
  const at: FaultAt = (member) =>
    form.fault(`${saved}.${member}`, causesOf(member, form.fields)) ??
    faultsAt(error, `${checked}.${member}`);
  const atFields =
    form.isSaidAt(members.map((member) => `${saved}.${member}`)) ||
    members.some((member) => at(member) !== undefined);
  return (
    <EntryFrame
      title={stored === undefined ? texts.add : of(change, serverName(stored.server))}
      form={form}
      atFields={atFields}
      submit={texts.save}
      extra={
        <BusyButton busy={busy} onClick={check}>
          {texts.check}
        </BusyButton>
      }
    >
      {stored === undefined && form.entry !== '' && !form.busy ? (
        <Callout kind="warning">{texts.gone}</Callout>
      ) : null}
      {stored === undefined ? (
        <SelectField
          label={texts.kind}
          hint={texts.kindHints[kind]}
          value={kind}
          onChange={(chosen) => form.set({ kind: chosen as Kind })}
          options={kinds.map((value) => ({ value, label: texts.kinds[value] }))}
        />
      ) : null}
      {kind === 'stdio_servers' ? <StdioFields form={form} at={at} /> : <RemoteFields form={form} at={at} />}
      <CheckResult checking={busy} result={result} />
      {atFields ? null : <ErrorCallout error={error} />}
    </EntryFrame>
  );
}
