// Draws bars as SVG: groups of horizontal bars, each of one or more parts, with its value beside it. The picture has a
// background of its own and follows the colour scheme of the reader.

export interface Bar {
  readonly name: string;
  /** In the order of the legend, from the left. */
  readonly parts: readonly number[];
  /** The text beside the bar. */
  readonly label: string;
}

export interface BarGroup {
  readonly name: string;
  readonly bars: readonly Bar[];
}

export interface BarChart {
  readonly title: string;
  readonly groups: readonly BarGroup[];
  /** What the parts are; empty if each bar has one. */
  readonly legend: readonly string[];
  /** Draws a line at this value. */
  readonly mark?: { readonly value: number; readonly label: string };
}

const widthPx = 720;
const marginPx = 20;
const nameWidthPx = 130;
const labelWidthPx = 150;
const barHeightPx = 16;
const barStepPx = 22;
const groupGapPx = 14;
const titleHeightPx = 30;
const headHeightPx = 24;
const barsWidthPx = widthPx - 2 * marginPx - nameWidthPx - labelWidthPx;
const barsLeftPx = marginPx + nameWidthPx;

/** Both palettes have enough contrast for text and keep neighbouring parts apart without colours. */
const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .group { font-weight: 600 }
  .ground { fill: #ffffff }
  .part0 { fill: #0a69da } .part1 { fill: #a5c8f5 } .part2 { fill: #6e7781 }
  .mark { stroke: #bc4c00; stroke-width: 1.5; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .ground { fill: #0d1117 }
    .part0 { fill: #4493f8 } .part1 { fill: #1b4b8f } .part2 { fill: #9198a1 }
    .mark { stroke: #f0883e }
  }`;

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function textAt(x: number, y: number, text: string, more = ''): string {
  return `<text x="${x}" y="${y}"${more}>${escapeXml(text)}</text>`;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function drawBar({ name, parts, label }: Bar, top: number, pxOf: (value: number) => number): string {
  const baseline = top + barHeightPx - 4;
  const drawn = [textAt(barsLeftPx - 8, baseline, name, ' text-anchor="end"')];
  let left = barsLeftPx;
  for (const [i, value] of parts.entries()) {
    const width = pxOf(value);
    drawn.push(
      `<rect class="part${i}" x="${left.toFixed(1)}" y="${top}" width="${width.toFixed(1)}" height="${barHeightPx}"/>`,
    );
    left += width;
  }
  drawn.push(textAt(Math.round(left + 6), baseline, label));
  return drawn.join('\n');
}

function drawLegend(legend: readonly string[], top: number): string {
  const stepPx = 160;
  return legend
    .map((name, i) => {
      const left = barsLeftPx + i * stepPx;
      const box = `<rect class="part${i}" x="${left}" y="${top}" width="12" height="12"/>`;
      return `${box}\n${textAt(left + 18, top + 11, name)}`;
    })
    .join('\n');
}

/** Returns the picture as text. */
export function drawBars({ title, groups, legend, mark }: BarChart): string {
  const values = groups.flatMap(({ bars }) => bars.map(({ parts }) => sumOf(parts)));
  const max = Math.max(...values, mark?.value ?? 0, Number.MIN_VALUE);
  const pxOf = (value: number) => (value / max) * barsWidthPx;
  const drawn: string[] = [textAt(marginPx, marginPx + 14, title, ' class="title"')];
  let top = marginPx + titleHeightPx;
  if (legend.length > 0) {
    drawn.push(drawLegend(legend, top));
    top += headHeightPx;
  }
  const barsTop = top;
  for (const { name, bars } of groups) {
    drawn.push(textAt(marginPx, top + 14, name, ' class="group"'));
    top += headHeightPx;
    for (const bar of bars) {
      drawn.push(drawBar(bar, top, pxOf));
      top += barStepPx;
    }
    top += groupGapPx;
  }
  if (mark !== undefined) {
    const x = (barsLeftPx + pxOf(mark.value)).toFixed(1);
    drawn.push(`<line class="mark" x1="${x}" x2="${x}" y1="${barsTop}" y2="${top}"/>`);
    drawn.push(textAt(Number(x) - 6, barsTop + 10, mark.label, ' text-anchor="end"'));
  }
  const height = top + marginPx - groupGapPx;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${widthPx}" height="${height}" viewBox="0 0 ${widthPx} ${height}" role="img" aria-label="${escapeXml(title)}">
<style>${style}
</style>
<rect class="ground" width="${widthPx}" height="${height}" rx="6"/>
${drawn.join('\n')}
</svg>
`;
}
