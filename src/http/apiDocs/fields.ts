// Renders a JSON schema for readers: the limits as text, the fields as a table.
import { bytesMaxKeyword } from '../../validation/schema.ts';
import { folded, type Html, html, isEmpty, join, type Part, paragraphs } from './html.ts';
import {
  depthMax,
  type Json,
  listOf,
  objectOf,
  refName,
  type Scope,
  step,
  textOf,
  typeOf,
  unions,
} from './types.ts';

interface Inner {
  readonly label: Part;
  readonly schema: unknown;
  /** It gets its own line even if the schema contains only a type. */
  readonly telling: boolean;
}

/** A component nested this deep is only a link. */
const refsMax = 2;
const structures = [
  '$ref',
  'description',
  'properties',
  'patternProperties',
  'additionalProperties',
  'items',
  ...unions,
];

const ranges = [
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' items'],
  ['minProperties', 'maxProperties', ' fields'],
  ['minimum', 'maximum', ''],
] as const;

const remarks: Readonly<Record<string, (value: unknown) => Part>> = {
  [bytesMaxKeyword]: (value) => `at most ${amount(value)} bytes`,
  exclusiveMinimum: (value) => `more than ${amount(value)}`,
  exclusiveMaximum: (value) => `less than ${amount(value)}`,
  multipleOf: (value) => `a multiple of ${amount(value)}`,
  format: (value) => html`format ${codeOf(value)}`,
  pattern: (value) => html`matches <code>${String(value)}</code>`,
  uniqueItems: (value) => (value === true ? 'no item twice' : undefined),
  const: (value) => html`always ${codeOf(value)}`,
  default: (value) => html`default ${codeOf(value)}`,
  readOnly: (value) => (value === true ? 'only in answers' : undefined),
  writeOnly: (value) => (value === true ? 'only in requests' : undefined),
  deprecated: (value) => (value === true ? 'deprecated' : undefined),
};

function amount(value: unknown): string {
  return typeof value === 'number' ? value.toLocaleString('en') : String(value);
}

function codeOf(value: unknown): Html {
  return html`<code>${textOf(value) || (JSON.stringify(value) ?? '')}</code>`;
}

function rangeOf(schema: Json, [min, max, unit]: (typeof ranges)[number]): string {
  // The limit in bytes is shown alone, because the one in characters is derived from it.
  const inBytes = max === 'maxLength' && schema[bytesMaxKeyword] !== undefined;
  const [least, most] = [schema[min], inBytes ? undefined : schema[max]];
  if (least === undefined && most === undefined) return '';
  if (most === undefined) return `at least ${amount(least)}${unit}`;
  if (least === undefined) return `at most ${amount(most)}${unit}`;
  return `${amount(least)} to ${amount(most)}${unit}`;
}

function choiceOf(schema: Json): Part {
  const nullable = listOf(schema['type']).includes('null');
  const values = listOf(schema['enum']).filter((value) => value !== null || !nullable);
  if (values.length === 0) return undefined;
  return html`${values.length === 1 ? 'always' : 'one of'} ${join(values.map(codeOf), ' ')}`;
}

/** It has nothing to show besides its type and limits. */
function isPlain(schema: unknown): boolean {
  return structures.every((keyword) => objectOf(schema)[keyword] === undefined);
}

/** Limits, choices and defaults, including those of plain items, which need no line of their own. */
function factsOf(schema: Json): Part[] {
  const said = Object.entries(remarks).map(([keyword, say]) =>
    schema[keyword] === undefined ? undefined : say(schema[keyword]),
  );
  const { items } = schema;
  const ofItems =
    items !== undefined && isPlain(items) ? factsOf(objectOf(items)).map((fact) => ['each item ', fact]) : [];
  const found = [choiceOf(schema), ...ranges.map((range) => rangeOf(schema, range)), ...said, ...ofItems];
  return found.filter((fact) => !isEmpty(fact));
}

/** The description of a value. A component's own description is used if the reference has none. */
export function meaningOf(schema: unknown, scope: Scope): Html {
  const name = refName(schema);
  const found = { ...objectOf(name === undefined ? {} : scope.schemas[name]), ...objectOf(schema) };
  const facts = factsOf(found).map((fact) => html`<li>${fact}</li>`);
  const list = facts.length === 0 ? undefined : html`<ul class="facts">${facts}</ul>`;
  return html`${paragraphs(textOf(found['description']))}${list}`;
}

function innersOf(schema: Json): Inner[] {
  const { items, patternProperties, additionalProperties, properties } = schema;
  const telling = false;
  const named = Object.entries(objectOf(patternProperties)).map(([pattern, value]) => ({
    label: html`Each field whose name matches <code>${pattern}</code>`,
    schema: value,
    telling: true,
  }));
  const other = properties === undefined ? 'Each field' : 'Each other field';
  const options = unions.flatMap((keyword) =>
    listOf(schema[keyword]).map((one) => ({
      label: keyword === 'allOf' ? 'With' : 'As',
      schema: one,
      telling,
    })),
  );
  return [
    ...(isPlain(items) ? [] : [{ label: 'Each item', schema: items, telling }]),
    ...named,
    ...(typeof additionalProperties === 'object'
      ? [{ label: other, schema: additionalProperties, telling: properties !== undefined }]
      : []),
    ...options,
  ];
}

function innerLine({ label, schema, telling }: Inner, scope: Scope): Part {
  const meaning = meaningOf(schema, scope);
  const block = blockOf(schema, scope);
  if (!telling && isEmpty([meaning, block])) return undefined;
  return html`<li><p class="inner"><b>${label}</b> <code class="type">${typeOf(schema, scope)}</code></p>
    ${meaning}${block}</li>`;
}

function memberRows(name: string, schema: unknown, required: boolean, scope: Scope): Html {
  const block = blockOf(schema, scope);
  const nested = isEmpty(block)
    ? undefined
    : html`<tr class="nested"><td colspan="2">${folded(html`Inside <code>${name}</code>`, block)}</td></tr>`;
  return html`${row(name, { schema, required }, scope)}${nested}`;
}

/** The row of a field or parameter: its name and type, and its meaning. */
export function row(
  name: string,
  { schema, required, remark }: { schema: unknown; required: boolean; remark?: Part },
  scope: Scope,
): Html {
  const mark = required ? html` <span class="required">required</span>` : undefined;
  return html`<tr><th scope="row"><code class="name">${name}</code>
    <span class="kind"><code class="type">${typeOf(schema, scope)}</code>${remark}${mark}</span></th>
    <td>${meaningOf(schema, scope)}</td></tr>`;
}

export function table(caption: string, first: string, rows: readonly Html[]): Html {
  return html`<table><caption>${caption}</caption><thead><tr><th scope="col">${first}</th>
    <th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;
}

/** Everything below the type: fields as a table, and the contents of items, values and alternatives. May be empty. */
export function blockOf(schema: unknown, scope: Scope): Html {
  const name = refName(schema);
  const names = scope.inside.filter((one) => one !== '');
  if (name !== undefined)
    return names.includes(name) || names.length >= refsMax
      ? html``
      : blockOf(scope.schemas[name], step(scope, name));
  if (scope.inside.length > depthMax) return html``;
  const found = objectOf(schema);
  const required = listOf(found['required']);
  const inner = step(scope);
  const rows = Object.entries(objectOf(found['properties'])).map(([field, value]) =>
    memberRows(field, value, required.includes(field), inner),
  );
  const inners = innersOf(found)
    .map((one) => innerLine(one, inner))
    .filter((line) => !isEmpty(line));
  return html`${rows.length === 0 ? undefined : [table('Members', 'Member', rows), othersLine(found)]}
    ${inners.length === 0 ? undefined : html`<ul class="inners">${inners}</ul>`}`;
}

function othersLine({ additionalProperties }: Json): Part {
  if (typeof additionalProperties !== 'boolean') return undefined;
  return html`<p class="others">${additionalProperties ? 'Other fields are allowed.' : 'No other fields.'}</p>`;
}
