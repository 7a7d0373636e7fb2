// The table of docs/agents.md: what each agent was seen to do.
import { type Column, columns, type Outcomes } from './outcomes.ts';

export interface Row {
  readonly agent: string;
  readonly version: string;
  /** A sentence where nothing could be seen. */
  readonly outcomes: Outcomes | string;
}

function cell(outcomes: Row['outcomes'], column: Column): string {
  if (typeof outcomes === 'string') return '–';
  return outcomes[column] === undefined ? 'yes' : 'no';
}

function faultsOf({ agent, outcomes }: Row): string[] {
  if (typeof outcomes === 'string') return [`- \`${agent}\`: ${outcomes}`];
  return columns
    .filter((column) => outcomes[column] !== undefined)
    .map((column) => `- \`${agent}\`, ${column}: ${outcomes[column]}`);
}

/** As Markdown; what went wrong stands below. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [
    ['agent', 'version', ...columns],
    ['', '', ...columns].map(() => '---'),
    ...rows.map(({ agent, version, outcomes }) => [
      `\`${agent}\``,
      version,
      ...columns.map((column) => cell(outcomes, column)),
    ]),
  ].map((cells) => `| ${cells.join(' | ')} |`);
  return [...lines, '', ...rows.flatMap(faultsOf)].join('\n');
}
