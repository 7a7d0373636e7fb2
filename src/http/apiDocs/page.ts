// The API docs page: static HTML from the OpenAPI document, without scripts or external resources.
import type { OpenApi } from '../openapi.ts';
import { blockOf, meaningOf } from './fields.ts';
import { Html, html, paragraphs } from './html.ts';
import { methodBadge, operationAnchor, renderOperation } from './operation.ts';
import { credentialHeader, type Operation } from './samples.ts';
import { referenceStyle } from './style.ts';
import { anchorOf, listOf, objectOf, type Scope, textOf, typeOf } from './types.ts';

interface Group {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

const methods = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);
const untagged = 'Other';

function operationsOf({ paths }: OpenApi): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => methods.has(method))
      .map(([method, said]) => ({ method, path, said })),
  );
}

/** Groups operations by their first tag, in the order of the document's tags, then undeclared tags. */
function groupsOf(openapi: OpenApi): Group[] {
  const byTag = Map.groupBy(operationsOf(openapi), ({ said }) => textOf(listOf(said['tags'])[0]) || untagged);
  const declared = new Map(openapi.tags.map(({ name, description }) => [name, description]));
  return [...new Set([...declared.keys(), ...byTag.keys()])]
    .map((name) => ({
      name,
      description: declared.get(name) ?? '',
      operations: byTag.get(name) ?? [],
    }))
    .filter(({ operations }) => operations.length > 0);
}

function groupAnchor(name: string): string {
  return `tag-${name.replace(/[^\w.-]/g, '_')}`;
}

function navigation({ info, components }: OpenApi, groups: readonly Group[]): Html {
  const tags = groups.map(({ name, operations }) => {
    const links = operations.map(
      (one) => html`<li><a href="#${operationAnchor(one)}">${methodBadge(one.method)}
        <span>${textOf(one.said['summary']) || one.path}</span></a></li>`,
    );
    return html`<li><a href="#${groupAnchor(name)}">${name}</a><ul>${links}</ul></li>`;
  });
  const schemas = Object.keys(components.schemas).map(
    (name) => html`<li><a href="#${anchorOf(name)}">${name}</a></li>`,
  );
  return html`<nav aria-label="Contents"><p class="brand"><a href="#top">${info.title}</a> <span>${info.version}</span></p>
    <details class="menu"><summary>Contents</summary><ul>
    <li><a href="#authentication">Authentication</a></li>${tags}
    <li><a href="#schemas">Schemas</a><ul>${schemas}</ul></li></ul></details></nav>`;
}

function authentication({ components }: OpenApi, address: string): Html {
  const schemes = Object.values(components.securitySchemes).map((one) => {
    const scheme = objectOf(one);
    const header = credentialHeader(scheme) ?? `${textOf(scheme['name'])} in ${textOf(scheme['in'])}`;
    return html`<dt><code>${header}</code></dt><dd>${paragraphs(textOf(scheme['description']))}</dd>`;
  });
  return html`<section id="authentication"><h2>Authentication</h2>
    <p>A request carries its credential in a header, where <code>$KEY</code> stands for the credential.
    Each operation says which it takes.</p>
    <dl>${schemes}</dl>
    <p>The commands on this page work in a shell once these two are set:</p>
    <pre><code>URL=${address}\nKEY=your-credential</code></pre></section>`;
}

function groupSection({ name, description, operations }: Group, openapi: OpenApi, scope: Scope): Html {
  const { securitySchemes } = openapi.components;
  return html`<section id="${groupAnchor(name)}"><h2>${name}</h2>${paragraphs(description)}
    ${operations.map((operation) => renderOperation(operation, scope, securitySchemes))}</section>`;
}

function schemasSection(scope: Scope): Html {
  const schemas = Object.entries(scope.schemas).map(
    ([name, schema]) => html`<article class="schema" id="${anchorOf(name)}">
      <h3><a href="#${anchorOf(name)}">${name}</a> <code class="type">${typeOf(schema, scope)}</code></h3>
      ${meaningOf(schema, scope)}${blockOf(schema, { ...scope, inside: [name] })}</article>`,
  );
  return html`<section id="schemas"><h2>Schemas</h2>${schemas}</section>`;
}

/** A whole page. Its style is a single element, so that a hash of `referenceStyle` allows it. */
export function renderReference(openapi: OpenApi, address: string): string {
  const { info, components } = openapi;
  const scope: Scope = { schemas: components.schemas, inside: [] };
  const groups = groupsOf(openapi);
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${info.title} API reference</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><style>${new Html(referenceStyle)}</style></head>
<body id="top"><a class="skip" href="#content">Skip to the content</a>
${navigation(openapi, groups)}
<main id="content" tabindex="-1"><header class="intro"><h1>${info.title} <small>${info.version}</small></h1>
${paragraphs(info.description)}
<p>The same description for programs: <a href="openapi.json">OpenAPI ${openapi.openapi}</a>.</p></header>
${authentication(openapi, address)}
${groups.map((group) => groupSection(group, openapi, scope))}
${schemasSection(scope)}</main></body></html>`;
  return `${page.markup}\n`;
}
