// The colours of code can be read on every surface that code is shown on, in both themes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { tokenKinds } from '../code/tokens.ts';

/** WCAG 2, level AA. */
const contrastMin = 4.5;
const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');
const themes = ['light', 'dark'] as const;

function colour(name: string, theme: (typeof themes)[number]): string {
  const found = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(css);
  assert.ok(found, name);
  return found[theme === 'light' ? 1 : 2] ?? '';
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [dark = 0, bright = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (bright + 0.05) / (dark + 0.05);
}

describe('the colours of code', () => {
  for (const theme of themes)
    it(`have a contrast of at least ${contrastMin} in the ${theme} theme`, () => {
      for (const surface of ['surface', 'surface-sunken', 'green-soft', 'red-soft', 'green-mark', 'red-mark'])
        for (const kind of tokenKinds) {
          const found = contrast(colour(`code-${kind}`, theme), colour(surface, theme));
          assert.ok(found >= contrastMin, `${kind} on ${surface}: ${found.toFixed(2)}`);
        }
    });
});
