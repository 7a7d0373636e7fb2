// The operator's default settings, for users who have not set their own. Model, base URL and API key belong together: the
// operator's key never goes to a URL that a user has chosen.
import { providerOf } from '../models/providers.ts';
import { isSecretField, type SecretField } from './schema.ts';
import type { SettingsRows } from './store.ts';

type Document = Readonly<Record<string, unknown>>;

/** The fields that have defaults. Others are personal, or their secrets belong to what the user has named. */
export const defaultFields = [
  'language',
  'agent',
  'max_iterations',
  'security_analyzer',
  'confirmation_mode',
  'llm_model',
  'llm_api_key',
  'llm_base_url',
  'remote_runtime_resource_factor',
  'enable_default_condenser',
  'enable_sound_notifications',
  'enable_proactive_conversation_starters',
  'enable_solvability_analysis',
  'sandbox_base_container_image',
  'sandbox_runtime_container_image',
  'search_api_key',
  'max_budget_per_task',
] as const;
export type DefaultField = (typeof defaultFields)[number];

const modelFields: ReadonlySet<DefaultField> = new Set(['llm_model', 'llm_api_key', 'llm_base_url']);

export interface EffectiveRows extends SettingsRows {
  /** The fields whose values are the operator's. */
  readonly fromOperator: readonly DefaultField[];
}

const hasSecret = ({ secrets }: Pick<SettingsRows, 'secrets'>, wanted: SecretField) =>
  secrets.some(({ kind }) => kind === wanted);

/** Whether the user may use the operator's model, base URL and key. */
function sharesModel(rows: SettingsRows, own: Document, others: Document): boolean {
  if (hasSecret(rows, 'llm_api_key') || own['llm_base_url'] !== undefined) return false;
  const [ownModel, otherModel] = [own['llm_model'], others['llm_model']];
  if (ownModel === undefined || ownModel === otherModel) return true;
  const provider = providerOf(String(ownModel));
  return provider !== undefined && typeof otherModel === 'string' && provider === providerOf(otherModel);
}

/** Adds what the user has not set. */
export function applyDefaults(rows: SettingsRows): EffectiveRows {
  const { operator } = rows;
  if (operator === null) return { ...rows, fromOperator: [] };
  const own = JSON.parse(rows.document) as Document;
  const others = JSON.parse(operator.document) as Document;
  const shares = sharesModel(rows, own, others);
  const isMissing = (name: DefaultField) =>
    isSecretField(name)
      ? hasSecret(operator, name) && !hasSecret(rows, name)
      : others[name] !== undefined && own[name] === undefined;
  const fromOperator = defaultFields.filter((name) => isMissing(name) && (shares || !modelFields.has(name)));
  const plain = fromOperator.filter((name) => !isSecretField(name));
  const secrets = fromOperator
    .filter((name) => isSecretField(name))
    .map((kind) => ({ kind, name: '', host: null, description: null }));
  return {
    ...rows,
    document: JSON.stringify({ ...own, ...Object.fromEntries(plain.map((name) => [name, others[name]])) }),
    secrets: [...rows.secrets, ...secrets],
    fromOperator,
  };
}

/**
 * Removes what a client only sends back. Existing clients send whole records, and would turn every default into a setting
 * of the user.
 */
export function withoutEchoes<Sent extends object>(sent: Sent, rows: SettingsRows): Sent {
  const { document, fromOperator } = applyDefaults(rows);
  const effective = JSON.parse(document) as Document;
  const isEcho = ([name, value]: [string, unknown]) =>
    (fromOperator as readonly string[]).includes(name) && effective[name] === value;
  return Object.fromEntries(Object.entries(sent).filter((entry) => !isEcho(entry))) as Sent;
}
