import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { browserName } from './browserName.ts';

describe('the name of a browser', () => {
  it('is short', () => {
    const names: [string, string | undefined][] = [
      ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox, Linux'],
      [
        'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0',
        'Edge, Windows',
      ],
      [
        'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15',
        'Safari, macOS',
      ],
      [
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile Safari/604.1',
        'Safari, iOS',
      ],
      ['curl/8.5.0', 'curl/8.5.0'],
      ['', undefined],
    ];
    for (const [text, name] of names) assert.equal(browserName(text), name);
  });
});
