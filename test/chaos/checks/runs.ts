// One agent at a time on a workspace, nothing recorded by a run that has lost its conversation, every acknowledged
// message given to the agent, and nothing stuck once the faults are over.
import type { AgentLine, FinalConversation, History, Operation, Workspace } from '../history.ts';
import type { Findings } from './violation.ts';

const markPattern = /\bagent-([0-9a-f]+)#(\d+)\b/;
const tokenPattern = /\btoken-[a-z]+-\d+\b/g;
/** A message that comes while a turn begins may belong to the next one. */
const turnsThatSettle = 2;
/** A conversation may end so; any other reason is a failure that nobody asked for. */
const peacefulEnds = ['user', 'idle', 'finished'];
/** So many workers in a row may be lost with a conversation; it is then given up, as docs/runs.md says. */
const lossesMax = 5;
const losingFaults = /^(kill|pause|database|late|unreachable|read-only)/;
const givenUpText = 'each time its worker was lost';

function tokensIn(text: string): string[] {
  return [...text.matchAll(tokenPattern)].map(([token]) => token);
}

function checkOverlaps(findings: Findings, { user, conversation, lines }: Workspace): void {
  const agents = [...Map.groupBy(lines, ({ agent }) => agent).values()].map((own) => ({
    agent: own[0]?.agent,
    from: BigInt(own[0]?.atNs ?? 0),
    to: BigInt(own.at(-1)?.atNs ?? 0),
  }));
  const inOrder = agents.toSorted((a, b) => (a.from < b.from ? -1 : 1));
  for (const [i, next] of inOrder.entries()) {
    const before = inOrder.slice(0, i).find(({ to }) => to > next.from);
    findings.expect(
      before === undefined,
      'overlapping-runs',
      () =>
        `agent ${next.agent} began in the workspace of ${conversation} of ${user} ${Number((before?.to ?? 0n) - next.from) / 1e6} ms before agent ${before?.agent} had ended`,
    );
  }
}

/** The marks that agents left in the log by their tool calls, in the order of the log. */
function marksOf({ events }: FinalConversation): { agent: string; number: number; event: number }[] {
  return events.flatMap(({ id, text }) => {
    const event = JSON.parse(text);
    if (event.observation !== 'run' || event.source !== 'agent') return [];
    const [, agent, number] = markPattern.exec(String(event.content)) ?? [];
    return agent === undefined ? [] : [{ agent, number: Number(number), event: id }];
  });
}

function checkMarks(findings: Findings, conversation: FinalConversation, about: readonly Operation[]): void {
  const { user, id } = conversation;
  const ended = new Set<string>();
  let current: string | undefined;
  let last = 0;
  for (const { agent, number, event } of marksOf(conversation)) {
    if (agent !== current) {
      if (current !== undefined) ended.add(current);
      current = agent;
      last = 0;
    }
    findings.expect(
      !ended.has(agent),
      'lost-run-wrote',
      () => `event ${event} of ${id} of ${user} is of agent ${agent}, which another had replaced already`,
      about,
    );
    if (!ended.has(agent))
      findings.expect(
        number === last + 1,
        number > last ? 'agent-event-lost' : 'agent-event-doubled',
        () => `event ${event} of ${id} of ${user}: step ${number} of agent ${agent} follows step ${last}`,
        about,
      );
    last = number;
  }
}

/** Whether the user cancels what is before this event. */
function isCancellation(event: {
  source?: string;
  action?: string;
  args?: { agent_state?: string };
}): boolean {
  const { source, action, args } = event;
  return source === 'user' && action === 'change_agent_state' && args?.agent_state === 'awaiting_user_input';
}

/**
 * Messages of the user that the agent must have got: not those that were cancelled. Where the conversation was stopped, only those that two whole turns
 * followed: the stop may have come before the agent got the last ones.
 */
function dueTokens({ status, stopCode, events }: FinalConversation): string[] {
  const tokens: { readonly token: string; readonly turnsBefore: number }[] = [];
  let turns = 0;
  let running = false;
  for (const { text } of events) {
    const event = JSON.parse(text);
    const state = event.extras?.agent_state;
    if (event.source === 'user' && event.action === 'message')
      for (const token of tokensIn(String(event.args?.content))) tokens.push({ token, turnsBefore: turns });
    if (isCancellation(event)) tokens.length = 0;
    if (state === 'running') running = true;
    if (state === 'awaiting_user_input' && running) {
      running = false;
      turns += 1;
    }
  }
  const wasStopped = status === 'STOPPED' && stopCode !== 'idle' && stopCode !== 'finished';
  return tokens
    .filter(({ turnsBefore }) => !wasStopped || turns - turnsBefore >= turnsThatSettle)
    .map(({ token }) => token);
}

/** The tokens that a prompt gives as new, without a word that they had been given before. */
function newTokensIn(prompt: string): string[] {
  if (prompt.includes('You were interrupted')) return [];
  return tokensIn(prompt.replaceAll(/<history>[\s\S]*?<\/history>/g, '').replaceAll(/^>.*$/gm, ''));
}

/** Returns how many messages had to reach the agent. */
function checkDelivery(
  findings: Findings,
  conversation: FinalConversation,
  lines: readonly AgentLine[],
  about: readonly Operation[],
): number {
  const prompts = lines.filter(({ kind }) => kind === 'prompt').map(({ text = '' }) => text);
  // Whole tokens: one may be the beginning of another.
  const given = new Set(prompts.flatMap(tokensIn));
  const givenAsNew = Map.groupBy(prompts.flatMap(newTokensIn), (token) => token);
  const agent = `the agent of ${conversation.id} of ${conversation.user}`;
  for (const [token, { length }] of givenAsNew)
    findings.expect(
      length === 1,
      'doubled-delivery',
      () => `${agent} got the message ${token} ${length} times without a word that it was repeated`,
      about,
    );
  const due = dueTokens(conversation);
  for (const token of due)
    findings.expect(
      given.has(token),
      'undelivered-message',
      () => `${agent} never got the message ${token}`,
      about,
    );
  return due.length;
}

export function isSettled({ status, runId, turnOpen, heard, events }: FinalConversation): boolean {
  if (status === 'STOPPED') return runId === null;
  const unheard = events.some(({ id, text }) => {
    if (id < heard) return false;
    const event = JSON.parse(text);
    return event.source === 'user' && event.action === 'message';
  });
  return status === 'RUNNING' && !turnOpen && !unheard;
}

function checkEnd(
  findings: Findings,
  conversation: FinalConversation,
  { hasAgent, lostOften }: { readonly hasAgent: boolean; readonly lostOften: boolean },
  about: readonly Operation[],
): void {
  const { user, id, status, stopCode } = conversation;
  findings.expect(
    isSettled(conversation),
    'stuck-conversation',
    () =>
      `${id} of ${user} is ${status} and does not get on: ${JSON.stringify({ ...conversation, events: undefined })}`,
    about,
  );
  const ends = hasAgent ? peacefulEnds : [...peacefulEnds, 'agent_missing'];
  const wasGivenUp = lostOften && conversation.events.at(-1)?.text.includes(givenUpText);
  findings.expect(
    stopCode === null || ends.includes(stopCode) || wasGivenUp === true,
    'failed-conversation',
    () => `${id} of ${user} stopped with ${stopCode}: ${conversation.events.at(-1)?.text}`,
    about,
  );
}

/** What its user did to each conversation. */
function operationsByConversation({ operations }: History): Map<string, Operation[]> {
  const found = operations.filter(({ kind }) => ['create', 'message', 'stop', 'cancel'].includes(kind));
  return Map.groupBy(found, (one) => {
    const conversation = one.kind === 'create' ? one.answered : 'conversation' in one ? one.conversation : '';
    return `${one.user} ${conversation}`;
  });
}

/** Returns how many messages had to reach an agent. */
export function checkRuns(findings: Findings, history: History): number {
  let messages = 0;
  const withAgent = new Set(history.users.filter(({ hasAgent }) => hasAgent).map(({ name }) => name));
  const workspaces = new Map(history.workspaces.map((one) => [`${one.user} ${one.conversation}`, one]));
  for (const workspace of history.workspaces) checkOverlaps(findings, workspace);
  const operations = operationsByConversation(history);
  const lostOften = history.faults.filter(({ name }) => losingFaults.test(name)).length >= lossesMax;
  for (const conversation of history.conversations) {
    const about = operations.get(`${conversation.user} ${conversation.id}`) ?? [];
    const hasAgent = withAgent.has(conversation.user);
    checkEnd(findings, conversation, { hasAgent, lostOften }, about);
    if (!hasAgent) continue;
    checkMarks(findings, conversation, about);
    const lines = workspaces.get(`${conversation.user} ${conversation.id}`)?.lines ?? [];
    messages += checkDelivery(findings, conversation, lines, about);
  }
  return messages;
}
