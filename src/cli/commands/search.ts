// `parley search`: where words are in titles and in what was said.
import type { SearchMatch, SearchResult } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import type { searchCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { createOutput, type Output } from '../terminal/output.ts';

const pageMax = 50;

type Ranges = SearchMatch['ranges'];

/** The text on one line, with its matches in bold. */
function marked(text: string, ranges: Ranges, { style }: Output): string {
  let at = 0;
  let out = '';
  const line = (from: number, to: number) => plainLine(`.${text.slice(from, to)}.`).slice(1, -1);
  for (const { start, end } of ranges) {
    out += line(at, start) + style('bold', line(start, end));
    at = end;
  }
  return (out + line(at, text.length)).trim();
}

function printResult(result: SearchResult, output: Output): void {
  const { conversation_id: id, title, title_ranges: ranges, matches, more_matches: more } = result;
  output.text(`${marked(title, ranges, output)}  ${output.style('dim', plainLine(id))}\n`);
  for (const { event_id: event, snippet, ranges } of matches)
    output.text(`  ${output.style('dim', `${event}`)}  ${marked(snippet, ranges, output)}\n`);
  if (more) output.text(`  ${output.style('dim', '…')}\n`);
}

export const search: Handler<typeof searchCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  if (options.limit < 1) throw new RefusalError('--limit must be at least 1.');
  const parley = connect();
  let left = options.limit;
  let page: string | null | undefined;
  while (left > 0 && page !== null) {
    const position = page === undefined ? {} : { page_id: page };
    const filter = { limit: Math.min(left, pageMax), ...position };
    const { results, next_page_id: next } = await parley.conversations.search(args.words.join(' '), filter);
    for (const result of results)
      if (output.isJson) output.json(result);
      else printResult(result, output);
    left -= results.length;
    page = next;
  }
  if (left === options.limit && !output.isJson) output.note('Nothing was found.\n');
  return exits.done;
};
