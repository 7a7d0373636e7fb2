// Which addresses of a log are led to, or drawn.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isHeldImage, outAddress, safeUrl } from './safeUrl.ts';

const here = 'http://127.0.0.1:3000';

describe('an address of a log', () => {
  it('is led to where it is whole, and of another place', () => {
    for (const url of ['https://example.org/a?b#c', 'http://127.0.0.1:3001/', 'mailto:a@example.org'])
      assert.equal(outAddress(url, here), url);
  });

  it('is not led to where it is of this page, or of nothing', () => {
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
      assert.equal(outAddress(url, here), undefined, url);
  });

  it('is drawn where it holds pixels, and not where it holds rules', () => {
    for (const url of ['data:image/png;base64,a', 'data:image/JPEG;base64,a', 'data:image/webp,a'])
      assert.equal(isHeldImage(url) && safeUrl(url), url);
    for (const url of ['data:image/svg+xml;base64,a', 'data:image/pngx,a', 'https://example.org/a.png'])
      assert.equal(isHeldImage(url), false, url);
    assert.equal(safeUrl('data:image/svg+xml;base64,a'), '');
  });
});
