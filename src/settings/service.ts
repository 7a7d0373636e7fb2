// Settings are cached as serialized text per user and form, so that a read is a lookup. A change is based on a version
// and stored only if that is still the newest, so that none is lost.
import { hash } from 'node:crypto';
import type { AuditAction } from '../audit/store.ts';
import { createCache } from '../db/cache.ts';
import { outcomeUnknown } from '../db/outcomes.ts';
import type { Database } from '../db/transaction.ts';
import { ownerOf } from '../encryption/store.ts';
import type { Vault } from '../encryption/vault.ts';
import { AppError, invalid } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import type { KeyKind } from '../keys/schema.ts';
import { type McpConfig, mcpFault } from '../mcp/schema.ts';
import { type McpSecrets, mask, noMcp, restoreMasks, type StoredMcp, splitMcp } from '../mcp/secrets.ts';
import { type ChangeMode, type Document, type Plan, planChange } from './change.ts';
import { applyDefaults, type DefaultField, withoutEchoes } from './operatorDefaults.ts';
import { toFullSettings, toReducedSettings } from './record.ts';
import { type FullSettings, PatchSettings, type SecretField, type SettingsChange } from './schema.ts';
import { sentSecretsFaults } from './sentSecrets.ts';
import {
  findMcp,
  findSealed,
  findSettings,
  type McpRows,
  type SecretWrite,
  type SettingsRows,
  storeSettings,
} from './store.ts';
import { createWriteQueue } from './writeQueue.ts';

const cachedUsersMax = 10_000;
const etagDigits = 16;
/** Includes all waiting. A write that is not stored by then is not stored at all. */
const writeMs = 10_000;

const mcpSecretKind = 'mcp';

export interface Rendered {
  /** As text, which Node sends in one piece with the head. */
  readonly text: string;
  readonly etag: string;
}

/** The forms for API keys and for bearer tokens. */
type Shapes = Readonly<Record<KeyKind, Rendered>>;

/** The user, and the key for the audit log. */
export type Writer = Pick<Principal, 'userId' | 'keyId'>;

/** What to store, computed from the current rows. */
export interface Change {
  readonly document: Document;
  readonly secrets: readonly SecretWrite[];
  readonly audit: readonly { readonly action: AuditAction; readonly subject: string }[];
}

type MakeChange = (rows: SettingsRows) => Promise<Change | undefined>;

export type Settings = ReturnType<typeof createSettings>;

const writableNames: ReadonlySet<string> = new Set(
  Object.keys((PatchSettings as unknown as { properties: object }).properties),
);

function render(value: unknown, version: number): Rendered {
  const text = JSON.stringify(value);
  return {
    text,
    etag: `"${version}-${hash('sha256', text, 'hex').slice(0, etagDigits)}"`,
  };
}

/** Whether If-Match contains this version, in any form of the settings, or `*`. */
function versionMatches(ifMatch: string | undefined, version: number): boolean {
  if (ifMatch === undefined || ifMatch.trim() === '*') return true;
  return ifMatch.split(',').some((tag) => tag.trim().startsWith(`"${version}-`));
}

interface SettingsOptions {
  readonly database: Database;
  readonly vault: Vault;
  /** The values that `agent` may have. */
  readonly agentNames: () => readonly string[];
}

export interface EffectiveSettings {
  readonly settings: FullSettings;
  /** The operator's secret; undefined if there is none, or if it is not for this user. */
  openOperatorSecret(kind: SecretField & DefaultField): Promise<string | undefined>;
}

export function createSettings({ database, vault, agentNames }: SettingsOptions) {
  const cache = createCache<Shapes>(database, { entriesMax: cachedUsersMax });
  const writes = createWriteQueue();

  async function load(userId: number): Promise<Shapes> {
    const rows = await database.run(findSettings, userId);
    const full = toFullSettings(applyDefaults(rows));
    return { session: render(full, rows.version), bearer: render(toReducedSettings(full), rows.version) };
  }

  /** The settings in the form for that kind of credential, if they are cached. */
  function find(userId: number, shape: KeyKind): Rendered | undefined {
    return cache.find(userId)?.[shape];
  }

  /** The same, and reads them if they are not cached. */
  function get(userId: number, shape: KeyKind): Rendered | Promise<Rendered> {
    const known = find(userId, shape);
    if (known !== undefined) return known;
    return cache.load(userId, () => load(userId)).then((shapes) => (shapes as Shapes)[shape]);
  }

  /** Reads the record after a write. If that fails, the error must not suggest that nothing was stored. */
  async function getChanged(userId: number, shape: KeyKind): Promise<Rendered> {
    try {
      return await get(userId, shape);
    } catch (error) {
      throw outcomeUnknown(error);
    }
  }

  /**
   * The settings that apply, without the cache. Secrets of the operator are opened only if these settings, and not later
   * ones, share them: a user may change the base URL at any moment.
   */
  async function readEffective(userId: number): Promise<EffectiveSettings> {
    const rows = await database.run(findSettings, userId);
    const effective = applyDefaults(rows);
    return {
      settings: toFullSettings(effective),
      openOperatorSecret: async (kind) =>
        rows.operator !== null && effective.fromOperator.includes(kind)
          ? openSecret(rows.operator.userId, kind, '')
          : undefined,
    };
  }

  const read = async (userId: number): Promise<FullSettings> => (await readEffective(userId)).settings;

  /** The fields that the user has not set, and whose values are the operator's. */
  async function listDefaults(userId: number): Promise<readonly DefaultField[]> {
    return applyDefaults(await database.run(findSettings, userId)).fromOperator;
  }

  /** The names of the stored secrets of a kind. */
  async function secretNames(userId: number, kind: string): Promise<string[]> {
    const { secrets } = await database.run(findSettings, userId);
    return secrets.filter((secret) => secret.kind === kind).map(({ name }) => name);
  }

  /** The decrypted value of a secret; undefined if there is none. */
  async function openSecret(userId: number, kind: string, name: string): Promise<string | undefined> {
    const sealed = await database.run(findSealed, { userId, kind, name });
    if (sealed === undefined) return undefined;
    return vault.decrypt(sealed, ownerOf({ table: 'secrets', userId, name: [kind, name] }));
  }

  function sealSecret(userId: number, kind: string, name: string, value: string): string {
    return vault.encrypt(value, ownerOf({ table: 'secrets', userId, name: [kind, name] }));
  }

  /** Stores the result of `make` for the newest rows. It is computed again if another process wrote first. */
  async function changeNow(writer: Writer, make: MakeChange, ifMatch: string | undefined, deadline: number) {
    const { userId } = writer;
    for (;;) {
      const rows = await database.run(findSettings, userId, { deadline });
      if (!versionMatches(ifMatch, rows.version))
        throw new AppError(
          'precondition_failed',
          'The settings have changed since you read them; read them again.',
        );
      const made = await make(rows);
      if (made === undefined) return;
      const write = {
        userId,
        expectedVersion: rows.version,
        document: JSON.stringify(made.document),
        secrets: made.secrets,
        audit: made.audit.map((entry) => ({ ...writer, ...entry })),
      };
      const outcome = await database.run(storeSettings, write, { deadline });
      if (outcome === 'stored') return;
      if (outcome === 'stale_seal') await vault.refresh();
    }
  }

  /**
   * Stores the result of `make` for the newest rows, if it has one. Writes of one user run one after another. Throws
   * `precondition_failed` if If-Match names another version and `overloaded` after the deadline; nothing is stored
   * then.
   */
  async function change(writer: Writer, make: MakeChange, ifMatch?: string): Promise<void> {
    const deadline = performance.now() + writeMs;
    try {
      await writes.run(writer.userId, deadline, () => changeNow(writer, make, ifMatch, deadline));
    } finally {
      // Also after a failure, because it may be unknown whether the write was stored.
      cache.forget(writer.userId);
    }
  }

  async function openMcpRows(userId: number, { document, sealed }: McpRows): Promise<StoredMcp> {
    const masked = (JSON.parse(document) as Document)['mcp_config'] as StoredMcp['masked'] | undefined;
    if (masked === undefined || sealed === null) return { ...noMcp, masked: masked ?? noMcp.masked };
    const opened = await vault.decrypt(
      sealed,
      ownerOf({ table: 'secrets', userId, name: [mcpSecretKind, ''] }),
    );
    return { masked, secrets: JSON.parse(opened) as McpSecrets };
  }

  async function storedMcp(userId: number): Promise<StoredMcp> {
    const rows = await database.run(findMcp, { userId, kind: mcpSecretKind, name: '' });
    return rows === undefined ? noMcp : openMcpRows(userId, rows);
  }

  /** The stored MCP servers with their secrets. */
  async function openMcp(userId: number): Promise<McpConfig> {
    const stored = await storedMcp(userId);
    return restoreMasks(stored.masked, stored).config;
  }

  /** Only a new value is checked, so that a client can send back what an earlier version has stored. */
  function checkAgent({ changed, document }: Plan): void {
    const { agent } = document;
    if (!changed.includes('agent') || agent === undefined) return;
    const names = agentNames();
    if (!names.includes(agent as string))
      throw invalid([{ path: 'agent', message: `must be one of ${names.join(', ')}` }]);
  }

  async function mcpWrites(userId: number, mcp: Plan['mcp']) {
    if (mcp === undefined) return { field: {}, secrets: [] };
    const remove: SecretWrite = { kind: mcpSecretKind, name: '', sealed: null };
    if (mcp === null) return { field: { mcp_config: undefined }, secrets: [remove] };
    // Stored secrets are decrypted only if a mask refers to them.
    const stored = JSON.stringify(mcp).includes(mask) ? await storedMcp(userId) : noMcp;
    const { config, faults } = restoreMasks(mcp, stored);
    const whole = mcpFault(config);
    if (whole !== undefined) throw invalid([{ path: 'mcp_config', message: whole }]);
    if (faults.length > 0) throw invalid(faults);
    const { masked, secrets } = splitMcp(config);
    const keep = (value: McpSecrets): SecretWrite => ({
      kind: mcpSecretKind,
      name: '',
      host: null,
      description: null,
      sealed: sealSecret(userId, mcpSecretKind, '', JSON.stringify(value)),
    });
    return { field: { mcp_config: masked }, secrets: [secrets === undefined ? remove : keep(secrets)] };
  }

  /** Merges a POST or PATCH into the record. Everything is checked before anything is stored. */
  async function update(
    writer: Writer,
    mode: ChangeMode,
    sent: SettingsChange,
    ifMatch?: string,
  ): Promise<void> {
    const { userId } = writer;
    const faults = mode === 'post' ? sentSecretsFaults((sent as Document)['secrets_store']) : [];
    if (faults.length > 0) throw invalid(faults);
    await change(
      writer,
      async (rows) => {
        const stored = JSON.parse(rows.document) as Document;
        const wanted = mode === 'post' ? withoutEchoes(sent, rows) : sent;
        const plan = planChange(mode, stored, wanted, writableNames);
        if (plan.changed.length === 0) return undefined;
        checkAgent(plan);
        const mcp = await mcpWrites(userId, plan.mcp);
        const keys = [...plan.secrets].map(
          ([kind, value]): SecretWrite =>
            value === null
              ? { kind, name: '', sealed: null }
              : {
                  kind,
                  name: '',
                  host: null,
                  description: null,
                  sealed: sealSecret(userId, kind, '', value),
                },
        );
        return {
          document: { ...plan.document, ...mcp.field },
          secrets: [...keys, ...mcp.secrets],
          audit: plan.changed.map((subject) => ({ action: 'settings.change' as const, subject })),
        };
      },
      ifMatch,
    );
  }

  return {
    find,
    get,
    getChanged,
    read,
    listDefaults,
    update,
    change,
    secretNames,
    openSecret,
    readEffective,
    sealSecret,
    openMcp,
    /** Must be called after a change of the defaults. Other processes notice it within a second. */
    forgetAll: cache.forgetAll,
  };
}
