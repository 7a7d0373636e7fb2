// The form for one MCP server of any type. The server can be checked before it is saved.
import { useMutation } from '@tanstack/react-query';
import type { McpConfig, Settings } from '../../../../src/client/parley.ts';
import { BusyButton } from '../../components/BusyButton.tsx';
import { Callout, ErrorCallout } from '../../components/Callout.tsx';
import { SelectField, TextArea, TextField } from '../../components/fields.tsx';
import { SecretField } from '../../components/SecretField.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsUpdate } from '../../session/settings.ts';
import { fieldErrorAt } from '../../texts/errors.ts';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { EntryForm } from '../entries/EntryForm.tsx';
import { type EntryFormState, type EntryInput, useEntryForm } from '../entries/useEntryForm.ts';
import { CheckResult } from './CheckResult.tsx';
import { EnvFields } from './EnvFields.tsx';
import {
  envSecret,
  findServer,
  type ListedServer,
  newServer,
  positionOf,
  positionPath,
  type ServerFields,
  type ServerType,
  serverName,
  serverTypes,
  storableFields,
  toServer,
  withServer,
} from './servers.ts';

type Config = Settings['mcp_config'];

export function useServerForm(config: Config) {
  const update = useSettingsUpdate();
  return useEntryForm<ServerFields, unknown>('mcpServer', {
    empty: newServer,
    storable: storableFields,
    send: ({ entry, fields, secrets }: EntryInput<ServerFields>) => {
      const server = toServer(fields, secrets, findServer(config, entry)?.server);
      return update.mutateAsync({
        mcp_config: withServer(config, positionOf(config, entry, fields.kind), server),
      });
    },
  });
}

type FieldErrorAt = (field: string) => string | undefined;

function RemoteFields({
  form,
  at,
}: {
  readonly form: EntryFormState<ServerFields>;
  readonly at: FieldErrorAt;
}) {
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
        error={at('url')}
      />
      <SecretField
        label={texts.api_key}
        hint={hasKey ? `${texts.api_keyHint} ${texts.api_keyReenter}` : texts.api_keyHint}
        isSet={hasKey}
        value={form.secrets['api_key']}
        onChange={(value) => form.setSecret('api_key', value)}
        error={at('api_key')}
      />
      {kind === 'shttp_servers' ? (
        <TextField
          label={texts.timeout}
          hint={texts.timeoutHint}
          value={timeout}
          onChange={(typed) => form.set({ timeout: typed })}
          error={at('timeout')}
        />
      ) : null}
    </>
  );
}

function StdioFields({
  form,
  at,
}: {
  readonly form: EntryFormState<ServerFields>;
  readonly at: FieldErrorAt;
}) {
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
        error={at('name')}
      />
      <TextField
        label={texts.command}
        hint={texts.commandHint}
        mono
        value={command}
        onChange={(typed) => form.set({ command: typed })}
        error={at('command')}
      />
      <TextArea
        label={texts.args}
        hint={texts.argsHint}
        mono
        value={args}
        onChange={(typed) => form.set({ args: typed })}
        error={at('args')}
      />
      <EnvFields form={form} error={at('env')} />
    </>
  );
}

/** Checks the server in the form without storing it. The result is valid until the form is edited. */
function useFormCheck({ fields, secrets }: EntryFormState<ServerFields>, stored: ListedServer | undefined) {
  const parley = useParley();
  const mutation = useMutation({
    mutationFn: async (input: Pick<EntryInput<ServerFields>, 'fields' | 'secrets'>) => {
      const server = toServer(input.fields, input.secrets, stored?.server);
      const { servers } = await parley.mcp.check({ [input.fields.kind]: [server] } as McpConfig);
      return servers[0];
    },
  });
  const { isPending, variables } = mutation;
  const isCurrent = variables?.fields === fields && variables.secrets === secrets;
  return {
    busy: isPending,
    error: isCurrent ? mutation.error : null,
    result: isCurrent ? mutation.data : undefined,
    check: () => !isPending && mutation.mutate({ fields, secrets }),
  };
}

const fieldNames = ['url', 'api_key', 'timeout', 'name', 'command', 'args', 'env'];

/** The fields whose edit clears the error: a stored secret is bound to the URL or name of its server. */
function relatedFields(field: string, { env }: ServerFields): string[] {
  if (field === 'api_key') return ['api_key', 'url'];
  return field === 'env' ? ['env', 'name', ...env.map(({ id }) => envSecret(id))] : [field];
}

interface ServerFormProps {
  readonly form: EntryFormState<ServerFields>;
  readonly config: Config;
}

export function ServerForm({ form, config }: ServerFormProps) {
  const { tools: texts, change, labelFor } = useSettingsTexts();
  const stored = findServer(config, form.entry);
  const { busy, error, result, check } = useFormCheck(form, stored);
  const { kind } = form.fields;
  const saved = `mcp_config.${positionPath(positionOf(config, form.entry, kind))}`;
  // A check sends this server alone, as the first of its list.
  const checked = `mcp_config.${positionPath({ kind, index: 0 })}`;
  const at: FieldErrorAt = (field) =>
    form.fieldError(`${saved}.${field}`, relatedFields(field, form.fields)) ??
    fieldErrorAt(error, `${checked}.${field}`);
  const atFields =
    form.hasFieldError(fieldNames.map((field) => `${saved}.${field}`)) ||
    fieldNames.some((field) => at(field) !== undefined);
  return (
    <EntryForm
      title={stored === undefined ? texts.add : labelFor(change, serverName(stored.server))}
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
        <Callout kind="warning">{texts.changedElsewhere}</Callout>
      ) : null}
      {stored === undefined ? (
        <SelectField
          label={texts.kind}
          hint={texts.typeHints[kind]}
          value={kind}
          onChange={(chosen) => form.set({ kind: chosen as ServerType })}
          options={serverTypes.map((value) => ({ value, label: texts.kinds[value] }))}
        />
      ) : null}
      {kind === 'stdio_servers' ? <StdioFields form={form} at={at} /> : <RemoteFields form={form} at={at} />}
      <CheckResult checking={busy} result={result} />
      {atFields ? null : <ErrorCallout error={error} />}
    </EntryForm>
  );
}
