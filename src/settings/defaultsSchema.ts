// The public form of the operator's default settings.
import Type, { type TProperties, type TUnsafe } from 'typebox';
import { oneOf } from '../validation/schema.ts';
import { type DefaultField, defaultFields } from './operatorDefaults.ts';
import { FullSettings, isSecretField, PatchSettings, type SettingsChange } from './schema.ts';

const shownFields = [
  ...defaultFields.filter((name) => !isSecretField(name)),
  'llm_api_key_set',
  'search_api_key_set',
] as const;
type ShownField =
  | Exclude<DefaultField, 'llm_api_key' | 'search_api_key'>
  | 'llm_api_key_set'
  | 'search_api_key_set';

function pick(properties: TProperties, names: readonly string[]): TProperties {
  return Object.fromEntries(names.flatMap((name) => (properties[name] ? [[name, properties[name]]] : [])));
}

export const DefaultSettings = Type.Object(pick(FullSettings.properties as TProperties, shownFields), {
  $id: 'DefaultSettings',
  additionalProperties: false,
}) as unknown as TUnsafe<Pick<FullSettings, ShownField>>;
export type DefaultSettings = Type.Static<typeof DefaultSettings>;

export function toDefaults(full: FullSettings): DefaultSettings {
  return Object.fromEntries(shownFields.map((name) => [name, full[name as ShownField]])) as DefaultSettings;
}

export const ChangeDefaults = Type.Object(
  pick((PatchSettings as unknown as { properties: TProperties }).properties, defaultFields),
  { $id: 'ChangeDefaults', additionalProperties: false },
) as unknown as TUnsafe<Pick<SettingsChange, DefaultField>>;
export type ChangeDefaults = Type.Static<typeof ChangeDefaults>;

export const AppliedDefaults = Type.Object(
  {
    fields: Type.Array(oneOf(defaultFields), { description: "The fields whose values are the operator's." }),
  },
  { $id: 'AppliedDefaults', additionalProperties: false },
);
export type AppliedDefaults = Type.Static<typeof AppliedDefaults>;
