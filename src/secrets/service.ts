// Custom secrets and access tokens for git providers. They are part of a user's settings: each change increases their
// version.
import { AppError } from '../errors.ts';
import { gitProviders } from '../git/providers.ts';
import { mask } from '../mcp/secrets.ts';
import type { Change, Settings, Writer } from '../settings/service.ts';
import type { SecretWrite, SettingsRows } from '../settings/store.ts';
import {
  type AddGitProviders,
  customSecretsMax,
  type NewSecret,
  normaliseHost,
  type SecretUpdate,
} from './schema.ts';

const custom = 'custom';
/** The kind of secret under which the access token of a Git provider is stored, by the provider's name. */
export const providerTokenKind = 'provider_token';

export type Secrets = ReturnType<typeof createSecrets>;

function notFound(): AppError {
  return new AppError('not_found', 'This secret does not exist.');
}

function exists(): AppError {
  return new AppError('secret_exists', 'A secret with this name already exists.');
}

function refuseTooMany(stored: number): void {
  if (stored >= customSecretsMax)
    throw new AppError(
      'limit_reached',
      `At most ${customSecretsMax} secrets can be stored; delete one first.`,
    );
}

export function createSecrets({ settings }: { settings: Settings }) {
  const listCustom = (rows: SettingsRows) => rows.secrets.filter(({ kind }) => kind === custom);

  function changeOf(rows: SettingsRows, secrets: readonly SecretWrite[]): Change {
    return {
      document: JSON.parse(rows.document),
      secrets,
      audit: secrets.map(({ kind, name, sealed }) => ({
        action: sealed === null ? 'secret.remove' : 'secret.set',
        subject: kind === custom ? name : `${kind} ${name}`,
      })),
    };
  }

  async function list(userId: number) {
    const { secrets_store } = await settings.read(userId);
    const stored = Object.entries(secrets_store.custom_secrets);
    return { custom_secrets: stored.map(([name, { description }]) => ({ name, description })) };
  }

  async function create(writer: Writer, { name, value, description }: NewSecret): Promise<void> {
    await settings.change(writer, async (rows) => {
      const stored = listCustom(rows);
      if (stored.some((secret) => secret.name === name)) throw exists();
      refuseTooMany(stored.length);
      const sealed = settings.sealSecret(writer.userId, custom, name, value);
      return changeOf(rows, [{ kind: custom, name, sealed, host: null, description: description || null }]);
    });
  }

  /** Stores the secret, and replaces one of the same name. */
  async function replace(writer: Writer, { name, value, description }: NewSecret): Promise<void> {
    await settings.change(writer, async (rows) => {
      refuseTooMany(listCustom(rows).filter((secret) => secret.name !== name).length);
      const sealed = settings.sealSecret(writer.userId, custom, name, value);
      return changeOf(rows, [{ kind: custom, name, sealed, host: null, description: description || null }]);
    });
  }

  /** Changes the name, value and description at once. What is not sent stays. */
  async function update(writer: Writer, name: string, sent: SecretUpdate): Promise<void> {
    await settings.change(writer, async (rows) => {
      const stored = listCustom(rows).find((secret) => secret.name === name);
      if (stored === undefined) throw notFound();
      const newName = sent.name ?? name;
      const renamed = newName !== name;
      if (renamed && listCustom(rows).some((secret) => secret.name === newName)) throw exists();
      // The name is part of the encryption, so a renamed secret is encrypted again.
      const value =
        sent.value ?? (renamed ? await settings.openSecret(writer.userId, custom, name) : undefined);
      const sealed =
        value === undefined ? undefined : settings.sealSecret(writer.userId, custom, newName, value);
      const description = sent.description === undefined ? stored.description : sent.description || null;
      const gone: SecretWrite[] = renamed ? [{ kind: custom, name, sealed: null }] : [];
      return changeOf(rows, [...gone, { kind: custom, name: newName, sealed, host: null, description }]);
    });
  }

  async function remove(writer: Writer, name: string): Promise<void> {
    await settings.change(writer, async (rows) => {
      if (!listCustom(rows).some((secret) => secret.name === name)) throw notFound();
      return changeOf(rows, [{ kind: custom, name, sealed: null }]);
    });
  }

  /** Stores tokens and hosts. An empty token keeps the stored one, and is ignored if there is none. */
  async function addGitProviders(writer: Writer, { provider_tokens }: AddGitProviders): Promise<void> {
    await settings.change(writer, async (rows) => {
      const writes = gitProviders.flatMap((name): SecretWrite[] => {
        const sent = provider_tokens[name];
        if (sent === undefined) return [];
        const typed = sent.token?.trim() ?? '';
        const token = typed === mask ? '' : typed;
        const stored = rows.secrets.find(
          (secret) => secret.kind === providerTokenKind && secret.name === name,
        );
        const host = sent.host === undefined ? (stored?.host ?? null) : normaliseHost(sent.host);
        const row = { kind: providerTokenKind, name, host, description: null };
        if (token !== '')
          return [{ ...row, sealed: settings.sealSecret(writer.userId, providerTokenKind, name, token) }];
        return stored === undefined ? [] : [{ ...row, sealed: undefined }];
      });
      return changeOf(rows, writes);
    });
  }

  async function removeGitProvider(writer: Writer, name: string): Promise<void> {
    await settings.change(writer, async (rows) => {
      if (!rows.secrets.some((secret) => secret.kind === providerTokenKind && secret.name === name))
        throw new AppError('not_found', 'No access token of this Git provider is stored.');
      return changeOf(rows, [{ kind: providerTokenKind, name, sealed: null }]);
    });
  }

  async function unsetProviderTokens(writer: Writer): Promise<void> {
    await settings.change(writer, async (rows) =>
      changeOf(
        rows,
        rows.secrets
          .filter(({ kind }) => kind === providerTokenKind)
          .map(({ kind, name }) => ({ kind, name, sealed: null })),
      ),
    );
  }

  return { list, create, replace, update, remove, addGitProviders, removeGitProvider, unsetProviderTokens };
}
