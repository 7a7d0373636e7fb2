import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { htmlToText } from './htmlText.ts';

const base = 'https://example.com/docs/page';
const textOf = (html: string) => htmlToText(html, base, 40_000).text;

describe('the text of a page', () => {
  it('has its title, headings, paragraphs, lists and links', () => {
    const html = `<!DOCTYPE html><html><head><title>A &amp; B
      page</title><style>p { color: red }</style></head><body>
      <nav><ul><li><a href="/">Home</a></li></ul></nav>
      <h1>Top <em>heading</em></h1>
      <p>Some   text, <b>bold</b>, with <a href="other?a=1&amp;b=2"> a link </a>and <a href="#here">none</a>.</p>
      <ul><li>one<ul><li><p>inner</p></li></ul></li><li>two</li></ul>
      <a href="/x"><h2>Linked</h2></a><p>first<br>second</p><a href="javascript:alert(1)">no</a>
      <script>if (a < b) { document.write("<p>not this</p>") }</script></body></html>`;
    assert.deepEqual(htmlToText(html, base, 40_000), {
      title: 'A & B page',
      text: [
        '# Top heading\n',
        'Some text, bold, with [a link](https://example.com/docs/other?a=1&b=2) and none.\n',
        '- one\n\n  - inner\n\n- two\n',
        '## [Linked](https://example.com/x)\n',
        'first\nsecond\n\nno',
      ].join('\n'),
      cut: false,
    });
  });

  it('keeps code unchanged, and rows of tables together', () => {
    const html =
      '<p>Run <code>npm  ci</code>:</p><pre><code class="x">\n<span>if</span> (a &lt; b) {\n    go();<br>}\n</code></pre>' +
      '<table><tr><th>name</th><th>value</th></tr><tr><td>a</td><td>1</td></tr></table>';
    assert.equal(
      textOf(html),
      'Run `npm ci`:\n\n```\nif (a < b) {\n    go();\n}\n```\n\nname | value\na | 1',
    );
  });

  it('decodes entities, and keeps invalid ones', () => {
    assert.equal(
      textOf('&lt;b&gt; &#8364; &#x1F600; &nope; &#0; &#xD800; a&b &mdash;'),
      '<b> € 😀 &nope; \uFFFD \uFFFD a&b —',
    );
  });

  it('decodes every entity that browsers know, including those in titles and attributes and without a semicolon', () => {
    const html =
      '<title>a &rarr; b</title>&rightarrow; &hearts; &copy 2026 &notin; <a href="/?q=a&#43;b&copy=1">&Auml;</a><img alt="&sum;">';
    const { title, text } = htmlToText(html, base, 1_000);
    assert.equal(title, 'a → b');
    assert.equal(text, '→ ♥ © 2026 ∉ [Ä](https://example.com/?q=a+b&copy=1)∑');
  });

  it('has no characters that only mark where a line may break, and plain spaces in code', () => {
    assert.equal(
      textOf('soft&shy;ly zero&ZeroWidthSpace;width<pre>a&nbsp;b</pre>'),
      'softly zerowidth\n\n```\na b\n```',
    );
  });

  it('reads what browsers read of broken pages', () => {
    assert.equal(
      textOf('1 < 2 <p class="a"">text <a title="a > b" href=x>link</a'),
      '1 < 2\n\ntext [link](https://example.com/docs/x)',
    );
    assert.equal(textOf('a <!-- never closed <p>b'), 'a');
    assert.equal(textOf('a <script>never closed <p>b'), 'a');
    assert.equal(textOf('<nav>menu <main>content'), 'content');
    assert.equal(textOf('<nav>a<nav>b</nav>c</nav>d</nav>'), 'd');
    assert.equal(textOf('<svg/>a<svg><title>not this</title></svg>'), 'a');
    assert.equal(textOf('a<script/>not this</script>b'), 'ab');
    assert.equal(textOf('<a href=/1 href=/2>x</a>'), '[x](https://example.com/1)');
    assert.equal(textOf('<pre>open'), '```\nopen\n```');
  });

  it('stops at its limit', () => {
    const { text, cut } = htmlToText('<p>word</p>'.repeat(10_000), base, 1_000);
    assert.equal(cut, true);
    assert.ok(text.length < 1_100);
  });

  it('takes linear time for a hostile page', () => {
    const plain = ['<', '<a', '</', '<!--', '<!doctype', '<![CDATA[', '&', '&#', '&am', '<a>', '<b>x</i>'];
    const open = ['<a href="', '<a =" ', '<a href=&amp', '<x y=z ', '<script', '<title>&', '<pre><pre'];
    for (const piece of [...plain, ...open]) {
      const html = piece.repeat(2_000_000 / piece.length);
      assert.ok(htmlToText(html, base, 40_000).text.length <= 250_000, piece);
    }
    const nested = '<b>'.repeat(140_000) + '</i>'.repeat(140_000);
    assert.deepEqual(htmlToText(nested, base, 40_000), { title: '', text: '', cut: false });
  });
});
