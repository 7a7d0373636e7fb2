import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { startService, type TestService } from '../../../test/support/service.ts';
import type { OpenApi } from '../openapi.ts';
import { renderReference } from './page.ts';
import { referenceStyle } from './style.ts';

const render = (openapi: OpenApi): string => renderReference(openapi, 'http://localhost:3000');

type Json = Record<string, unknown>;

function documentOf(operation: Json, schemas: Json = {}, path = '/things/{id}', method = 'post'): OpenApi {
  return {
    openapi: '3.1.0',
    info: { title: 'Things', version: '1.2.3', description: 'About things.' },
    servers: [{ url: '/', description: 'This one.' }],
    tags: [{ name: 'Things', description: 'What there is.' }],
    paths: { [path]: { [method]: { tags: ['Things'], summary: 'Do it', ...operation } } },
    components: {
      schemas,
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'X-Key', description: 'A key.' },
        token: { type: 'http', scheme: 'bearer', description: 'A token.' },
      },
    },
  };
}

function bodyOf(schema: unknown, examples?: Json): Json {
  return { requestBody: { content: { 'application/json': { schema, ...(examples && { examples }) } } } };
}

/** The text that a reader sees. */
function readable(page: string): string {
  const body = page.slice(page.indexOf('<body'));
  return body
    .replace(/<[^>]*>/g, ' ')
    .replace(
      /&(lt|gt|quot|#39|amp);/g,
      (_, name: string) => ({ lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' })[name] ?? '',
    )
    .replace(/\s+/g, ' ');
}

/** What the table of the request body says about one schema. */
function member(schema: unknown, schemas?: Json): string {
  const text = readable(render(documentOf(bodyOf({ properties: { it: schema } }), schemas)));
  return text.slice(text.indexOf('as application/json'), text.indexOf('Try it'));
}

describe('GET /docs', () => {
  let service: TestService;
  before(async () => {
    service = await startService({});
  });
  after(() => service.stop());

  it('answers with a page whose one style is allowed by the hash in its policy, 200', async () => {
    const { status, headers, text } = await service.ask('/docs', { key: null });
    const styles = [...text.matchAll(/<style>(.*?)<\/style>/gs)].map(([, style = '']) => style);
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/html/);
    assert.deepEqual(styles, [referenceStyle]);
    assert.match(
      headers.get('content-security-policy') ?? '',
      new RegExp(RegExp.escape(`style-src 'sha256-${hash('sha256', styles[0] ?? '', 'base64')}'`)),
    );
  });

  it('names every operation, member and error code of /openapi.json', async () => {
    const { body: openapi } = await service.ask('/openapi.json', { key: null });
    const text = readable((await service.ask('/docs', { key: null })).text);
    for (const [path, item] of Object.entries<Record<string, Json>>(openapi.paths))
      for (const [method, { summary }] of Object.entries(item)) {
        assert.ok(text.includes(`${summary} ${method.toUpperCase()} ${path} `), `${method} ${path}`);
      }
    for (const [name, schema] of Object.entries<Json>(openapi.components.schemas))
      for (const property of Object.keys(schema['properties'] ?? {}))
        assert.ok(text.includes(` ${property} `), `${name}.${property}`);
    for (const code of openapi.components.schemas.Error.properties.code.enum)
      assert.ok(text.includes(` ${code} `), code);
  });

  it('holds no script, no style attribute and no link to another host', async () => {
    const { text } = await service.ask('/docs', { key: null });
    assert.doesNotMatch(text, /<script|<iframe|<link|<img|@import|url\(/i);
    assert.doesNotMatch(text, /<[^>]*\s(style|src|srcset|on\w+)=/i);
    const targets = [...text.matchAll(/\shref="([^"]*)"/g)].map(([, target = '']) => target);
    assert.deepEqual([...new Set(targets.filter((target) => !target.startsWith('#')))], ['openapi.json']);
  });

  it('links only to places that it holds, each of them once', async () => {
    const { text } = await service.ask('/docs', { key: null });
    const ids = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id = '']) => id);
    assert.equal(new Set(ids).size, ids.length);
    for (const [, target = ''] of text.matchAll(/\shref="#([^"]*)"/g))
      assert.ok(ids.includes(target), target);
  });
});

describe('renderReference', () => {
  it('escapes every text of the document', () => {
    const evil = `<script>"&'`;
    const evils = {
      name: evil,
      in: evil,
      description: evil,
      schema: { type: evil, enum: [evil], default: evil },
    };
    const operation = {
      summary: evil,
      description: `${evil} and \`${evil}\``,
      security: [{ [evil]: [evil] }],
      'x-required-scope': evil,
      parameters: [evils],
      ...bodyOf(
        { properties: { [evil]: { $ref: evil, description: evil } } },
        { [evil]: { value: { a: evil } } },
      ),
      responses: { [evil]: { description: evil, content: { [evil]: { schema: { pattern: evil } } } } },
    };
    const page = render({
      ...documentOf(operation, { [evil]: { patternProperties: { [evil]: {} } } }, `/${evil}`),
      info: { title: evil, version: evil, description: evil },
      tags: [{ name: evil, description: evil }],
    });
    assert.ok(page.includes('&lt;script&gt;&quot;&amp;&#39;'));
    assert.doesNotMatch(page, /<script|>"&|&'/);
  });

  it('shows backticks as code', () => {
    const page = render(documentOf({ description: 'Send `a < b` or `c`.' }));
    assert.ok(page.includes('<p>Send <code>a &lt; b</code> or <code>c</code>.</p>'));
  });

  it('says types, bounds, choices and defaults in words', () => {
    assert.match(
      member({ type: ['string', 'null'], minLength: 1, maxLength: 2048 }),
      /string \| null .*1 to 2,048 characters/,
    );
    assert.match(member({ type: ['string', 'null'], enum: ['a', 'b', null] }), /one of a b $/);
    assert.match(
      member({ type: 'array', items: { type: 'integer', minimum: 3 } }),
      /integer\[\].*each item at least 3/,
    );
    assert.match(
      member({ anyOf: [{ type: 'string' }, { type: 'object', properties: { deep: {} } }] }),
      /string \| object .*As object .*deep any/,
    );
    assert.match(
      member({ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } }),
      /\(string \| null\)\[\]/,
    );
    assert.match(member({ type: 'object', additionalProperties: { type: 'number' } }), /map<number>/);
    assert.match(
      member({ patternProperties: { '^x-': { type: 'string' } } }),
      /whose name matches \^x- string/,
    );
    assert.match(member({ type: 'boolean', default: false }), /default false/);
  });

  it('resolves references, and links to the component', () => {
    const schemas = {
      Box: { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } },
    };
    const page = render(documentOf(bodyOf({ $ref: '#/components/schemas/Box' }), schemas));
    assert.match(page, /<a href="#schema-Box">Box<\/a><\/code> as application\/json/);
    assert.match(readable(page), /Box as application\/json Members Member Meaning size integer required/);
    assert.match(
      member({ type: 'array', items: { $ref: '#/components/schemas/Box' } }, schemas),
      /Box \[\].*size integer/,
    );
  });

  it('ends where a schema holds itself, and where many hold each other', () => {
    const names = Array.from({ length: 12 }, (_, index) => `Node${index}`);
    const properties = Object.fromEntries(
      names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]),
    );
    const page = render(
      documentOf({}, Object.fromEntries(names.map((name) => [name, { type: 'object', properties }]))),
    );
    assert.ok(page.length < 1_000_000, `${page.length} characters`);
  });

  it('says who may call an operation', () => {
    const access = (said: Json) => readable(render(documentOf(said)));
    assert.match(access({ security: [] }), /Who may call it Anyone; no key needed\./);
    assert.match(
      access({ security: [{ key: [] }, { token: [] }], 'x-required-scope': 'read' }),
      /Holders of X-Key or Authorization: Bearer with the scope read \./,
    );
  });

  it('builds a command for the shell from the first example', () => {
    const operation = {
      security: [{ key: [] }],
      parameters: [
        { name: 'id', in: 'path', required: true },
        { name: 'page-size', in: 'query', required: true },
        { name: 'cursor', in: 'query' },
      ],
      ...bodyOf({}, { first: { value: { text: "it's $5" } }, second: { value: {} } }),
    };
    const text = readable(render(documentOf(operation)));
    assert.ok(
      text.includes(
        `curl -X POST "$URL/things/$ID?page-size=$PAGE_SIZE" \\ -H "X-Key: $KEY" \\ ` +
          `-H 'Content-Type: application/json' \\ -d '{ "text": "it'\\''s $5" }'`,
      ),
      text,
    );
  });

  it('gives each error code of a status a line of its own', () => {
    const description = '`gone`: it left; see Later; `never`: it was not';
    const page = render(documentOf({ responses: { 404: { description } } }));
    assert.ok(
      page.includes('<p><code>gone</code>: it left; see Later</p><p><code>never</code>: it was not</p>'),
    );
  });

  it('does not fail on a document that holds the unexpected', () => {
    const odd = [
      null,
      true,
      false,
      0,
      'text',
      [],
      {},
      [null],
      { type: null },
      { $ref: 7 },
      { $ref: '#/nowhere' },
    ];
    for (const value of odd) {
      const inner = { properties: { it: value }, items: value, anyOf: [value], enum: value, required: value };
      const operation = {
        tags: value,
        summary: value,
        security: value,
        parameters: [value],
        responses: { 200: value },
      };
      for (const schema of [value, inner, { additionalProperties: value, patternProperties: { a: value } }])
        assert.match(render(documentOf({ ...operation, ...bodyOf(schema) }, { Odd: schema })), /<\/html>/);
      assert.match(render(documentOf({ requestBody: value, parameters: value })), /<\/html>/);
    }
  });
});
