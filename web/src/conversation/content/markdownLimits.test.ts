import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exceedsMarkdownLimits } from './markdownLimits.ts';

const table = (columns: number, rows: number) =>
  `${'|a'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n${'|\n'.repeat(rows)}`;

/** Each of these froze a browser for seconds, or crashed the parser. */
const attacks: Readonly<Record<string, string>> = {
  quotes: '>'.repeat(5_000),
  'quotes apart': '> '.repeat(1_000),
  lists: '- '.repeat(5_000),
  'quotes and lists': '> - '.repeat(2_000),
  'lists line by line': `${'- '.repeat(9)}a\n`.repeat(700),
  table: table(900, 900),
  'table in a quote': table(300, 30).replaceAll(/^/gm, '> '),
  stars: `${'*'.repeat(30_000)}a${'*'.repeat(30_000)}`,
  'stars apart': '*a_ '.repeat(1_000),
  headings: 'a\n===\n'.repeat(6_000),
  'quotes one by one': '> a\n\n'.repeat(2_000),
  links: ']('.repeat(8_000),
  footnotes: '[^a]'.repeat(4_000),
  comments: 'a <!-- '.repeat(2_000),
  items: '- a\n'.repeat(7_000),
  indent: `${' '.repeat(2_000)}- a`,
  long: 'a '.repeat(20_000),
};

const usual = `# What I did

- **First**: \`a_b_c\` in [the file](https://example.org/a_b)
  1. and *more*, see [^1]
     > > quoted

| name | what |
|---|---|
${'| a | b |\n'.repeat(40)}
\`\`\`c
${'int some_long_name = other_name * 2; // [x]\n'.repeat(30)}
\`\`\`

[^1]: a note
`;

describe('Markdown limits', () => {
  it('are exceeded by text that takes too long to parse', () => {
    for (const [name, text] of Object.entries(attacks)) assert.equal(exceedsMarkdownLimits(text), true, name);
  });

  it('are not exceeded by what agents write', () => {
    for (const text of ['', 'Done.', usual, usual.repeat(8)])
      assert.equal(exceedsMarkdownLimits(text), false, text);
  });
});
