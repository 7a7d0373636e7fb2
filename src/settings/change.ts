// Applies a POST or PATCH to the stored document. It is pure, so that it can be repeated after a lost race.
import { normaliseMcp } from '../mcp/schema.ts';
import { mask } from '../mcp/secrets.ts';
import { isSecretField, keptOnNull, type SecretField, type SettingsChange } from './schema.ts';

/** `post` keeps what existing clients mean to keep; `patch` is RFC 7396. */
export type ChangeMode = 'post' | 'patch';

export type Document = Readonly<Record<string, unknown>>;

export interface Plan {
  /** The document without `mcp_config`, which needs its secrets. */
  readonly document: Document;
  readonly changed: readonly string[];
  /** A new value, or null to remove it. */
  readonly secrets: ReadonlyMap<SecretField, string | null>;
  /** Absent means unchanged, null means cleared. */
  readonly mcp: ReturnType<typeof normaliseMcp> | null | undefined;
}

type Sent = Readonly<Record<string, unknown>>;

function secretChange(mode: ChangeMode, value: unknown): string | null | undefined {
  if (value === '' || value === mask) return undefined;
  return value === null ? (mode === 'post' ? undefined : null) : String(value);
}

/** In a merge patch, lists that are absent stay unchanged. */
function mcpChange(mode: ChangeMode, sent: SettingsChange['mcp_config'], stored: unknown): Plan['mcp'] {
  if (sent === undefined || sent === null) return sent;
  return normaliseMcp(mode === 'patch' ? { ...(stored as typeof sent), ...sent } : sent);
}

export function planChange(
  mode: ChangeMode,
  stored: Document,
  sent: SettingsChange,
  known: ReadonlySet<string>,
): Plan {
  const document: Record<string, unknown> = { ...stored };
  const secrets = new Map<SecretField, string | null>();
  const changed: string[] = [];
  for (const [name, value] of Object.entries(sent as Sent)) {
    if (!known.has(name) || name === 'mcp_config') continue;
    if (isSecretField(name)) {
      const secret = secretChange(mode, value);
      if (secret === undefined) continue;
      secrets.set(name, secret);
      changed.push(name);
      continue;
    }
    if (mode === 'post' && value === null && keptOnNull.has(name)) continue;
    const kept = value === null || value === '' ? undefined : value;
    if (kept === stored[name]) continue;
    if (kept === undefined) delete document[name];
    else document[name] = kept;
    changed.push(name);
  }
  const mcp = mcpChange(mode, sent.mcp_config, stored['mcp_config']);
  return { document, secrets, mcp, changed: mcp === undefined ? changed : [...changed, 'mcp_config'] };
}
