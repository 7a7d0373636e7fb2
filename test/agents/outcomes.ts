// What must be true of a conversation with a real agent.
import { toolAnswer } from '../support/mcpServer.ts';
import type { TestEvent } from '../support/runs.ts';
import { answers, httpTool, keys, lastMessage, printed, type Seen, toolInput, written } from './drive.ts';
import { stdioAnswer, stdioTool } from './stdioServer.ts';

export const columns = [
  'write',
  'command',
  'MCP over HTTP',
  'MCP over stdio',
  'answer',
  'second message',
  'resumes',
] as const;
export type Column = (typeof columns)[number];

/** Undefined where it went well; else why not. */
export type Outcomes = Readonly<Record<Column, string | undefined>>;

/** What is wrong where it is false. */
type Facts = Readonly<Record<string, boolean>>;

const quotedMax = 500;

/** What came of the tools, for a fault. */
function quoteLog(events: readonly TestEvent[]): string {
  const told = events
    .filter(({ extras }) => extras?.['outcome'] !== undefined)
    .map(({ observation, content, extras }) => `${observation} ${extras?.['outcome']} (${content})`);
  return told.join(', ').slice(0, quotedMax) || 'nothing';
}

function factsOf({ events, files, toolMessages, exchanges }: Seen): Readonly<Record<Column, Facts>> {
  const notLogged = `the log tells otherwise: ${quoteLog(events)}`;
  const notTold = 'the model was not told what came of it';
  const said = events.flatMap(({ source, action, args }) =>
    source === 'agent' && action === 'message' ? [String(args?.['content'])] : [],
  );
  const says = (text: string) => said.some((one) => one.includes(text));
  const isTold = (text: string) =>
    exchanges.some(({ request }) => request.results.some((result) => result.includes(text)));
  const ended = events.filter(({ extras }) => extras?.['outcome'] === 'completed');
  const ends = (name: string, content: string, about: (extras: TestEvent['extras']) => boolean) =>
    ended.some((one) => one.observation === name && one.content?.includes(content) && about(one.extras));
  const isNamed = (tool: string) => (extras: TestEvent['extras']) =>
    String(extras?.['name']).endsWith(`/${tool}`);
  const called = toolMessages.find(({ method }) => method === 'tools/call');

  return {
    write: {
      'the file is not as it should be': files['hello.txt']?.trim() === written,
      // Some write files by commands alone.
      [notLogged]:
        ends('edit', '', (extras) => extras?.['path'] === '/workspace/hello.txt') ||
        ends('run', '', (extras) => String(extras?.['command']).includes('/workspace/hello.txt')),
    },
    command: { [notTold]: isTold(printed), [notLogged]: ends('run', printed, () => true) },
    'MCP over HTTP': {
      'the server was not called': called?.params?.name === httpTool,
      'it was called otherwise': JSON.stringify(called?.params?.arguments) === JSON.stringify(toolInput),
      [notTold]: isTold(toolAnswer(httpTool)),
      [notLogged]: ends('mcp', toolAnswer(httpTool), isNamed(httpTool)),
    },
    'MCP over stdio': {
      [notTold]: isTold(stdioAnswer + keys.stdio),
      [notLogged]: ends('mcp', stdioAnswer, isNamed(stdioTool)),
    },
    answer: { 'it is not in the log': says(answers.first) },
    'second message': {
      'its command did not run': files['again.txt']?.trim() === written,
      'its answer is not in the log': says(answers.second),
    },
    resumes: {
      // If Parley had to repeat the history in a new session, the results would be text of a message.
      'the model was not sent the results from before the restart': exchanges.some(
        ({ request }) =>
          request.prompt.includes(lastMessage) && request.results.some((result) => result.includes(printed)),
      ),
    },
  };
}

export function outcomesOf(seen: Seen): Outcomes {
  const facts = factsOf(seen);
  const stuck = seen.exchanges.map(({ answer }) => (answer.call === undefined ? answer.fault : undefined));
  const why = stuck.find((fault) => fault !== undefined) ?? seen.fault;
  const outcomes = columns.map((column) => {
    const [wrong] = Object.entries(facts[column]).find(([, isTrue]) => !isTrue) ?? [];
    return [column, wrong !== undefined && why !== undefined ? `${wrong}; ${why}` : wrong] as const;
  });
  return Object.fromEntries(outcomes) as unknown as Outcomes;
}
