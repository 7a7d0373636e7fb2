// The type of a value in one line, and safe access to documents of unknown shape.
import { type Html, html, join, type Part } from './html.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The position of a schema on the page. */
export interface Scope {
  readonly schemas: Json;
  /** One entry per level, with the name of a component. A component within itself is linked, not shown again. */
  readonly inside: readonly string[];
}

/** Deeper levels are cut off. */
export const depthMax = 16;
const refPrefix = '#/components/schemas/';
export const unions = ['anyOf', 'oneOf', 'allOf'] as const;

/** Anything else counts as an empty object, so that no document breaks the page. */
export function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function anchorOf(name: string): string {
  return `schema-${name.replace(/[^\w.-]/g, '_')}`;
}

export function refName(schema: unknown): string | undefined {
  const { $ref } = objectOf(schema);
  return typeof $ref === 'string' ? $ref.replace(refPrefix, '') : undefined;
}

export function step(scope: Scope, name = ''): Scope {
  return { ...scope, inside: [...scope.inside, name] };
}

function namesOf(schema: Json): readonly string[] {
  const names = [schema['type']].flat().filter((name) => typeof name === 'string');
  if (names.length > 0) return names;
  if (schema['properties'] ?? schema['additionalProperties'] ?? schema['patternProperties'])
    return ['object'];
  if (schema['items'] !== undefined) return ['array'];
  const values = Array.isArray(schema['enum']) ? schema['enum'] : [schema['const']];
  const kinds = values.map((value) => (value === null ? 'null' : typeof value));
  return [...new Set(kinds.map((kind) => (kind === 'undefined' ? 'any' : kind)))];
}

function typeOfArray(schema: Json, scope: Scope): Part {
  if (schema['items'] === undefined) return 'array';
  const items = typeOf(schema['items'], scope);
  return / (\||&amp;) /.test(items.markup) ? html`(${items})[]` : html`${items}[]`;
}

function typeOfObject(schema: Json, scope: Scope): Part {
  const { properties, patternProperties, additionalProperties } = schema;
  if (properties !== undefined) return 'object';
  const values = [...Object.values(objectOf(patternProperties)), additionalProperties];
  const shown = values.filter((value) => Object.keys(objectOf(value)).length > 0);
  if (shown.length === 0) return 'object';
  return html`map&lt;${join(
    shown.map((value) => typeOf(value, scope)),
    ' | ',
  )}&gt;`;
}

/** The type in one line, such as `string[] | null`. A component is a link to its section. */
export function typeOf(schema: unknown, scope: Scope): Html {
  const name = refName(schema);
  if (name !== undefined)
    return Object.hasOwn(scope.schemas, name)
      ? html`<a href="#${anchorOf(name)}">${name}</a>`
      : html`${name}`;
  if (schema === false) return html`nothing`;
  if (scope.inside.length > depthMax) return html`…`;
  const inner = step(scope);
  const found = objectOf(schema);
  const union = unions.find((keyword) => Array.isArray(found[keyword]));
  if (union !== undefined) {
    const types = listOf(found[union]).map((one) => typeOf(one, inner));
    return html`${join(types, union === 'allOf' ? ' & ' : ' | ')}`;
  }
  const types = namesOf(found).map((one) => {
    if (one === 'array') return typeOfArray(found, inner);
    return one === 'object' ? typeOfObject(found, inner) : one;
  });
  return html`${join(types, ' | ')}`;
}
