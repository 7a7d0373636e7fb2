// Rows as aligned columns for a terminal.

/** What a terminal would obey is shown as a question mark. */
function plain(cell: string): string {
  return cell.replace(/\p{Cc}/gu, '?');
}

export function formatTable(headings: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(plain));
  const widths = headings.map((heading, i) =>
    Math.max(heading.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return `${[line(headings), ...rows.map(line)].join('\n')}\n`;
}
