// Renders one operation: who may call it, its parameters, its responses, and an example.
import { scopeExtension } from '../openapi.ts';
import { blockOf, meaningOf, row, table } from './fields.ts';
import { folded, type Html, html, isEmpty, join, type Part, paragraphs, prose } from './html.ts';
import { credentialHeader, firstMedia, type Operation, renderSamples } from './samples.ts';
import { type Json, listOf, objectOf, refName, type Scope, textOf, typeOf } from './types.ts';

export function operationAnchor({ method, path }: Operation): string {
  return `${method}${path}`.replace(/\W+/g, '-').replace(/-$/, '').toLowerCase();
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method}">${method.toUpperCase()}</span>`;
}

function requirementText(requirement: unknown, schemes: Json): Part {
  const needed = Object.keys(objectOf(requirement)).map((name) => {
    const header = credentialHeader(objectOf(schemes[name]))?.replace(/:? \$KEY$/, '');
    return html`<code>${header ?? name}</code>`;
  });
  return needed.length === 0 ? 'no credential' : join(needed, ' and ');
}

function accessText({ said }: Operation, schemes: Json): Part {
  const requirements = listOf(said['security']);
  if (requirements.length === 0) return 'Anyone; no key needed.';
  const texts = requirements.map((requirement) => requirementText(requirement, schemes));
  const scope = textOf(said[scopeExtension]);
  const withScope = scope === '' ? undefined : html` with the scope <code>${scope}</code>`;
  return ['Holders of ', join(texts, ' or '), withScope, '.'];
}

function parameterRow(parameter: unknown, scope: Scope): Html {
  const { name, in: where, required, schema, description } = objectOf(parameter);
  const described = typeof description === 'string' ? { ...objectOf(schema), description } : schema;
  const remark = html` <span class="where">in ${textOf(where)}</span>`;
  return row(textOf(name), { schema: described, required: required === true, remark }, scope);
}

function parametersPart({ said }: Operation, scope: Scope): Part {
  const rows = listOf(said['parameters']).map((one) => parameterRow(one, scope));
  return rows.length === 0 ? undefined : html`<h4>Parameters</h4>${table('Parameters', 'Parameter', rows)}`;
}

function requestPart({ said }: Operation, scope: Scope): Part {
  const { requestBody } = said;
  const [type, { schema }] = firstMedia(requestBody);
  if (type === '') return undefined;
  const optional = objectOf(requestBody)['required'] === true ? undefined : html` <small>optional</small>`;
  return html`<h4>Request body${optional}</h4>${paragraphs(textOf(objectOf(requestBody)['description']))}
    <p class="body"><code class="type">${typeOf(schema, scope)}</code> as ${type}</p>
    ${meaningOf(schema, scope)}${blockOf(schema, scope)}`;
}

/** The description lists error codes as `code`: meaning. Each gets a line of its own. */
function responseLines(description: string): Html {
  return html`${description.split(/; (?=`)/).map((line) => html`<p>${prose(line)}</p>`)}`;
}

function responseItem(status: string, response: unknown, scope: Scope): Html {
  const [type, { schema }] = firstMedia(response);
  const failed = /^[45]/.test(status);
  const shown = type === '' ? undefined : html`<code class="type">${typeOf(schema, scope)}</code>`;
  const as = type === '' || type.includes('json') ? undefined : html` <span class="where">as ${type}</span>`;
  const linkedAlone = failed && refName(schema) !== undefined;
  const block = linkedAlone ? undefined : blockOf(schema, scope);
  return html`<li class="response"><p class="status ${failed ? 'failed' : 'fine'}">${status}</p>
    <div>${responseLines(textOf(objectOf(response)['description']))}</div><p class="body">${shown}${as}</p>
    ${isEmpty(block) ? undefined : folded('What it holds', block)}</li>`;
}

function responsesPart({ said }: Operation, scope: Scope): Part {
  const items = Object.entries(objectOf(said['responses'])).map(([status, response]) =>
    responseItem(status, response, scope),
  );
  return items.length === 0 ? undefined : html`<h4>Responses</h4><ul class="responses">${items}</ul>`;
}

export function renderOperation(operation: Operation, scope: Scope, schemes: Json): Html {
  const { method, path, said } = operation;
  const id = operationAnchor(operation);
  const title = textOf(said['summary']) || `${method.toUpperCase()} ${path}`;
  return html`<article class="operation" id="${id}" aria-labelledby="${id}-title">
    <header><h3 id="${id}-title"><a href="#${id}">${title}</a></h3>
    <p class="line">${methodBadge(method)} <code>${path}</code></p>
    ${paragraphs(textOf(said['description']))}
    <p class="access"><b>Who may call it</b> ${accessText(operation, schemes)}</p></header>
    <div class="said">${parametersPart(operation, scope)}
    ${requestPart(operation, scope)}${responsesPart(operation, scope)}</div>
    ${renderSamples(operation, schemes)}</article>`;
}
