// The documentation matches the code.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { loadProfiles, readProfiles } from '../../src/agents/profiles.ts';
import { commands, entries, findEntry } from '../../src/cli/commands.ts';
import { exits } from '../../src/cli/exits.ts';
import { createParley } from '../../src/client/parley.ts';
import { serviceOptions } from '../../src/config.ts';
import { statuses } from '../../src/http/errors.ts';
import { readModels } from '../../src/models/catalogue.ts';

const root = resolve(import.meta.dirname, '../..');
const configuration = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
const errors = readFileSync(join(root, 'docs/errors.md'), 'utf8');
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The anchors of the headings of a page, in the way that Git hosts derive them. */
function anchorsOf(page: string): string[] {
  const headings = readFileSync(join(root, page), 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('docs/errors.md', () => {
  it('lists every error code with its status and meaning', () => {
    for (const [code, { status, when }] of Object.entries(statuses))
      assert.ok(errors.includes(`| ${status} | \`${code}\` | ${when} |`), code);
  });
});

describe('docs/configuration.md', () => {
  it('lists every option with its flag', () => {
    for (const { env, flag } of serviceOptions())
      assert.ok(configuration.includes(`| \`${env}\` | ${flag === undefined ? '' : `\`--${flag}\` `}|`), env);
  });
});

describe('the prices in docs/configuration.md', () => {
  it('are of the day of those that ship', () => {
    const { as_of: day } = JSON.parse(readFileSync(join(root, 'src/models/models.json'), 'utf8'));
    assert.ok(configuration.includes(`The prices that ship are of ${day} `));
  });

  it('are shown in a prices.json that is taken as it is', () => {
    const [, example = ''] = /## Model prices.*?```json\n(.*?)```/s.exec(configuration) ?? [];
    assert.equal(readModels(example, 'the example').size, 2);
  });
});

describe('docs/agents.md', () => {
  const page = readFileSync(join(root, 'docs/agents.md'), 'utf8');

  it('shows an agents.json that is taken as it is', () => {
    const [, example = ''] = /```json\n(.*?)```/s.exec(page) ?? [];
    assert.equal(readProfiles(example, 'the example').length, 1);
  });

  it('has a row for every agent that can be installed', () => {
    for (const { id, packages = [] } of loadProfiles())
      for (const { name, version } of packages.slice(0, 1)) {
        const row = `| \`${id}\` | \`${name}\` | ${version} |`;
        assert.match(page, new RegExp(`^${RegExp.escape(row)}`, 'm'));
      }
  });
});

describe('docs/cli.md', () => {
  const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');

  it('has a section for every command, and a row for every exit code', () => {
    const shown = entries.filter((entry) => 'commands' in entry || !entry.hidden);
    for (const { name } of shown) assert.match(page, new RegExp(`^### .*\`${name}\``, 'm'), name);
    for (const code of Object.values(exits)) assert.match(page, new RegExp(`^\\| ${code} \\| `, 'm'));
  });

  it('names only options that the command has', () => {
    const uses = [...page.matchAll(/^\.\/parley ([\w-]+) ?([^\n|#>]*)/gm)];
    assert.ok(uses.length > 15);
    for (const [, name = '', rest = ''] of uses) {
      const found = findEntry(name);
      const [second = ''] = rest.split(' ');
      const command =
        found !== undefined && 'commands' in found
          ? commands.find((known) => known.name === `${name} ${second}`)
          : found;
      assert.ok(command !== undefined && 'options' in command, `${name} ${second}`);
      for (const [, option = ''] of rest.replace(/"[^"]*"/g, '').matchAll(/--([a-z-]+)/g))
        assert.ok(Object.hasOwn(command.options, option), `${name} --${option}`);
    }
  });
});

describe('docs/client.md', () => {
  it('names every call', () => {
    const page = readFileSync(join(root, 'docs/client.md'), 'utf8');
    for (const [group, calls] of Object.entries(createParley({ url: '' }))) {
      const [row = '', names] =
        typeof calls === 'function'
          ? [/^\| `parley` \|.*$/m.exec(page)?.[0], [group]]
          : [new RegExp(`^\\| \`parley\\.${group}\` \\|.*$`, 'm').exec(page)?.[0], Object.keys(calls)];
      for (const name of names) assert.ok(row.includes(`\`${name}(`), `${group}.${name}`);
    }
  });
});

describe('the documents', () => {
  it('link only to files that exist', () => {
    for (const page of pages) {
      const links = readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g);
      for (const [, link = ''] of links)
        assert.ok(existsSync(join(root, dirname(page), link)), `${page} links to ${link}`);
    }
  });

  it('link only to headings that exist', () => {
    for (const page of pages) {
      const links = readFileSync(join(root, page), 'utf8').matchAll(
        /\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)/g,
      );
      for (const [, file, anchor = ''] of links) {
        const target = file === undefined ? page : join(dirname(page), file);
        assert.ok(anchorsOf(target).includes(anchor), `${page} links to ${target}#${anchor}`);
      }
    }
  });

  it('have an index that names every page', () => {
    const index = readFileSync(join(root, 'docs/README.md'), 'utf8');
    for (const page of pages.filter((name) => name.startsWith('docs/') && name !== 'docs/README.md'))
      assert.ok(index.includes(`](${page.slice('docs/'.length)})`), page);
  });
});
