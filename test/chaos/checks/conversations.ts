// What was acknowledged exists once, what was refused does not, and no log has a gap.
import type { FinalConversation, History, Operation, OperationOf } from '../history.ts';
import type { Findings } from './violation.ts';

const tokenPattern = /\btoken-[a-z]+-\d+\b/g;

/** The tokens in what its user said. */
function tokensOf(conversation: FinalConversation): string[] {
  return conversation.events.flatMap(({ text }) => {
    const event = JSON.parse(text);
    if (event.source !== 'user' || event.action !== 'message') return [];
    return [...String(event.args?.content).matchAll(tokenPattern)].map(([token]) => token);
  });
}

/** By user and token, the conversations in whose log it is: one entry for each time. */
function findTokens({ conversations }: History): Map<string, FinalConversation[]> {
  const places = new Map<string, FinalConversation[]>();
  for (const conversation of conversations)
    for (const token of tokensOf(conversation)) {
      const key = `${conversation.user} ${token}`;
      places.set(key, [...(places.get(key) ?? []), conversation]);
    }
  return places;
}

const nameOf = ({ user }: Operation, conversation: string | null) => `${user} ${conversation}`;

type Deletions = ReadonlyMap<string, readonly Operation[]>;

function findDeletions({ operations }: History): Deletions {
  const deletes = operations.filter(
    (one): one is OperationOf<'stop' | 'cancel' | 'delete'> => one.kind === 'delete',
  );
  return Map.groupBy(
    deletes.filter(({ outcome }) => outcome !== 'fail'),
    (one) => nameOf(one, one.conversation),
  );
}

type Creation = OperationOf<'create'>;

function checkCreation(
  findings: Findings,
  attempts: readonly Creation[],
  found: readonly FinalConversation[],
  deletions: Deletions,
): void {
  const [first] = attempts as [Creation];
  const { user, token } = first;
  const answers = new Set(attempts.filter(({ outcome }) => outcome === 'ok').map(({ answered }) => answered));
  findings.expect(
    answers.size <= 1,
    'different-answers',
    () => `repetitions of the creation ${token} of ${user} were answered with ${[...answers].join(' and ')}`,
    attempts,
  );
  findings.expect(
    found.length <= 1,
    'doubled-creation',
    () => `the creation ${token} of ${user} exists ${found.length} times`,
    attempts,
  );
  const [answered] = answers;
  if (answered === undefined) {
    const refused = attempts.every(({ outcome }) => outcome === 'fail');
    findings.expect(
      !refused || found.length === 0,
      'refused-but-done',
      () => `the creation ${token} of ${user} was refused and yet exists`,
      attempts,
    );
    return;
  }
  const deleted = deletions.get(nameOf(first, answered)) ?? [];
  const kept = found.some(({ id }) => id === answered);
  if (deleted.length === 0)
    findings.expect(
      kept,
      'lost-creation',
      () => `the conversation ${answered} of ${user}, which was acknowledged for ${token}, does not exist`,
      attempts,
    );
  else if (deleted.some(({ outcome }) => outcome === 'ok'))
    findings.expect(
      !kept,
      'undone-deletion',
      () => `the conversation ${answered} of ${user} exists although it was deleted`,
      [...attempts, ...deleted],
    );
}

type Message = OperationOf<'message'>;

function checkMessage(
  findings: Findings,
  attempts: readonly Message[],
  found: readonly FinalConversation[],
): void {
  const [{ token, user, conversation }] = attempts as [Message];
  const what = `the message ${token} of ${user}`;
  const acknowledged = attempts.filter(({ outcome }) => outcome === 'ok');
  const answers = new Set(acknowledged.map(({ answered }) => answered));
  findings.expect(
    answers.size <= 1,
    'different-answers',
    () => `repetitions of ${what} were answered with the events ${[...answers].join(' and ')}`,
    attempts,
  );
  findings.expect(
    found.length <= 1,
    'doubled-message',
    () => `${what} is in the log ${found.length} times`,
    attempts,
  );
  if (acknowledged.length > 0)
    findings.expect(
      found.some(({ id }) => id === conversation),
      'lost-message',
      () => `${what} was acknowledged and is not in the log of ${conversation}`,
      attempts,
    );
  if (attempts.every(({ outcome }) => outcome === 'fail'))
    findings.expect(
      found.length === 0,
      'refused-but-done',
      () => `${what} was refused and is in the log`,
      attempts,
    );
}

function checkLogs(findings: Findings, { conversations, strays }: History): void {
  for (const { user, id, events, nextEvent } of conversations) {
    const gap = events.findIndex((event, i) => event.id !== i);
    findings.expect(
      gap < 0 && events.length === nextEvent,
      'event-gap',
      () =>
        `the log of ${id} of ${user} has ${events.length} events, ends at ${nextEvent}, and has ${gap < 0 ? 'no gap' : `a gap at ${gap}`}`,
    );
  }
  findings.expect(strays === 0, 'stray-rows', () => `${strays} rows belong to no conversation`);
}

export function checkConversations(findings: Findings, history: History): void {
  const tokens = findTokens(history);
  const deletions = findDeletions(history);
  const creations = history.operations.filter((one) => one.kind === 'create') as Creation[];
  const groups = Map.groupBy(creations, ({ user, token }) => `${user} ${token}`);
  for (const [key, attempts] of groups) checkCreation(findings, attempts, tokens.get(key) ?? [], deletions);
  const messages = history.operations.filter(
    (one): one is Message => one.kind === 'message' && !deletions.has(nameOf(one, one.conversation)),
  );
  for (const [key, attempts] of Map.groupBy(messages, ({ user, token }) => `${user} ${token}`))
    checkMessage(findings, attempts, tokens.get(key) ?? []);
  checkLogs(findings, history);
}
