// Returns the accessibility violations that axe finds on a page.
import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

// Waits for animations: axe would measure colours that are still changing. A cancelled one may be followed by another.
const settle = `(async () => {
  const running = () => document.getAnimations()
    .filter((a) => a.playState === 'running' && a.effect.getTiming().iterations !== Infinity);
  for (let found = running(); found.length > 0; found = running())
    await Promise.allSettled(found.map((a) => a.finished));
})()`;

export async function faultsOf(page: Page, name: string, rules: object = {}): Promise<string[]> {
  await page.evaluate(settle);
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(${JSON.stringify({ resultTypes: ['violations'], ...rules })})`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${name}: ${id}: ${html.slice(0, 200)}\n${failureSummary}`),
  );
}
