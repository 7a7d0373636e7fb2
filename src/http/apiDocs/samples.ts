// Examples that readers copy from the API docs: a shell command and the document's examples.
import { folded, type Html, html } from './html.ts';
import { type Json, listOf, objectOf, textOf } from './types.ts';

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly said: Json;
}

interface Example {
  readonly label: string;
  readonly text: string;
}

/** A longer body is split into lines. */
const bodyLineMax = 60;
/** A longer response is collapsed. */
const openLinesMax = 12;

/** The header of a credential, such as `X-Session-API-Key: $KEY`; undefined if there is none. */
export function credentialHeader(scheme: Json): string | undefined {
  const name = textOf(scheme['name']);
  if (scheme['type'] === 'apiKey' && scheme['in'] === 'header') return `${name}: $KEY`;
  if (scheme['type'] === 'apiKey' && scheme['in'] === 'cookie') return `Cookie: ${name}=$KEY`;
  if (scheme['type'] !== 'http') return undefined;
  return `Authorization: ${scheme['scheme'] === 'bearer' ? 'Bearer' : textOf(scheme['scheme'])} $KEY`;
}

/** The first media type of a body or response, and its content; an empty type if there is none. */
export function firstMedia(body: unknown): readonly [type: string, media: Json] {
  const [type = '', media] = Object.entries(objectOf(objectOf(body)['content']))[0] ?? [];
  return [type, objectOf(media)];
}

function pretty(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}

function examplesOf(body: unknown): Example[] {
  const { example, examples } = firstMedia(body)[1];
  const named = Object.entries(objectOf(examples)).map(([label, one]) => ({
    label: textOf(objectOf(one)['summary']) || label.replaceAll('_', ' '),
    text: pretty(objectOf(one)['value']),
  }));
  return example === undefined ? named : [{ label: 'example', text: pretty(example) }, ...named];
}

function variable(name: string): string {
  return `$${name.toUpperCase().replace(/\W/g, '_')}`;
}

/** Escapes text for double quotes, in which the shell expands variables. */
function literal(text: string): string {
  return text.replace(/["`\\$]/g, '\\$&');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function requiredNames(said: Json, where: string): string[] {
  return listOf(said['parameters'])
    .map(objectOf)
    .filter((one) => one['in'] === where && one['required'] === true)
    .map(({ name }) => textOf(name));
}

function urlOf({ path, said }: Operation): string {
  const pieces = path.split(/\{([^}]*)\}/);
  const filled = pieces.map((piece, index) => (index % 2 === 1 ? variable(piece) : literal(piece)));
  const query = requiredNames(said, 'query').map((name) => `${literal(name)}=${variable(name)}`);
  return `"$URL${filled.join('')}${query.length === 0 ? '' : `?${query.join('&')}`}"`;
}

function headersOf({ said }: Operation, schemes: Json): string[] {
  const names = Object.keys(objectOf(listOf(said['security'])[0]));
  const credentials = names.map((name) => credentialHeader(objectOf(schemes[name])));
  const needed = requiredNames(said, 'header').map((name) => `${literal(name)}: ${variable(name)}`);
  return [...credentials, ...needed].filter((header) => header !== undefined);
}

function fileFieldsOf(requestBody: unknown): string[] {
  const fields = Object.keys(objectOf(objectOf(firstMedia(requestBody)[1]['schema'])['properties']));
  return fields.map((field) => `-F ${quoted(`${field}=@FILE`)}`);
}

function dataOf({ said: { requestBody } }: Operation): string[] {
  const [type] = firstMedia(requestBody);
  if (type === '') return [];
  if (type === 'multipart/form-data') return fileFieldsOf(requestBody);
  const [example] = examplesOf(requestBody);
  const line = example?.text.replace(/\n\s*/g, ' ') ?? '';
  const body = line.length <= bodyLineMax ? line : (example?.text ?? '');
  return [
    `-H ${quoted(`Content-Type: ${type}`)}`,
    `-d ${example === undefined ? '@body.json' : quoted(body)}`,
  ];
}

/** A shell command that uses the variables it names. */
export function curlOf(operation: Operation, schemes: Json): string {
  const { method, said } = operation;
  const responses = Object.values(objectOf(said['responses']));
  const streams = responses.some((response) => firstMedia(response)[0] === 'text/event-stream');
  return [
    `curl ${streams ? '-N ' : ''}${method === 'get' ? '' : `-X ${method.toUpperCase()} `}${urlOf(operation)}`,
    ...headersOf(operation, schemes).map((header) => `-H "${header}"`),
    ...dataOf(operation),
  ].join(' \\\n  ');
}

export function renderSamples(operation: Operation, schemes: Json): Html {
  const { requestBody, responses } = operation.said;
  const requests = examplesOf(requestBody).map(({ label, text }) => sample(`Request: ${label}`, text, false));
  const answers = Object.entries(objectOf(responses)).flatMap(([status, response]) =>
    examplesOf(response).map(({ label, text }) =>
      sample(`Answer ${status}: ${label}`, text, text.split('\n').length <= openLinesMax),
    ),
  );
  const examples = [...requests, ...answers];
  return html`<div class="samples"><h4>Try it</h4><pre><code>${curlOf(operation, schemes)}</code></pre>
    ${examples.length === 0 ? undefined : html`<h4>Examples</h4>${examples}`}</div>`;
}

function sample(label: string, text: string, open: boolean): Html {
  return folded(label, html`<pre><code>${text}</code></pre>`, open);
}
