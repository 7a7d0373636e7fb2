import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { externalUrl, isInlineImage, safeUrl } from './safeUrl.ts';

const here = 'http://127.0.0.1:3000';

describe('a URL of a log', () => {
  it('becomes a link if it is absolute and leads to another origin', () => {
    for (const url of ['https://example.org/a?b#c', 'http://127.0.0.1:3001/', 'mailto:a@example.org'])
      assert.equal(externalUrl(url, here), url);
  });

  it('is not a link if it leads to this origin or nowhere', () => {
    for (const url of [
      '/#key=pk_1_a',
      '//127.0.0.1:3000/#key=pk_1_a',
      `${here}/#key=pk_1_a`,
      'HTTP://127.0.0.1:3000/',
      'http:/127.0.0.1:3000',
      'settings',
      '#a',
      '',
      'javascript:alert(1)',
      ' javascript:alert(1)',
      'data:text/html,a',
      'file:///etc/passwd',
      'https://',
    ])
      assert.equal(externalUrl(url, here), undefined, url);
  });

  it('is rendered if it is a raster image, not if it is an SVG', () => {
    for (const url of ['data:image/png;base64,a', 'data:image/JPEG;base64,a', 'data:image/webp,a'])
      assert.equal(isInlineImage(url) && safeUrl(url), url);
    for (const url of ['data:image/svg+xml;base64,a', 'data:image/pngx,a', 'https://example.org/a.png'])
      assert.equal(isInlineImage(url), false, url);
    assert.equal(safeUrl('data:image/svg+xml;base64,a'), '');
  });
});
