// Safeguards of the product, each of which a mutant takes out. The simulation must notice every one of them.

export interface Mutant {
  /** What is taken out. */
  readonly name: string;
  readonly group:
    | 'fence'
    | 'lease'
    | 'reservation'
    | 'idempotency'
    | 'deadline'
    | 'outbox'
    | 'log'
    | 'messages'
    | 'lock';
  /** Each text must be in its file, once. */
  readonly changes: readonly { readonly file: string; readonly from: string; readonly to: string }[];
  /** One of these must be broken; by a lock, one of these pairs of transactions on PostgreSQL. */
  readonly breaks: readonly string[];
  /** A seed that has found it, to be tried first. */
  readonly seed?: number;
}

const runStore = 'src/conversations/run/store.ts';
const claimStore = 'src/conversations/run/claimStore.ts';
const sweepStore = 'src/conversations/sweep/store.ts';
const reservationStore = 'src/conversations/sweep/reservationStore.ts';
const createStore = 'src/conversations/create/store.ts';
const keyStore = 'src/conversations/idempotency/store.ts';
const lifecycleStore = 'src/conversations/lifecycle/store.ts';
const outboxStore = 'src/webhooks/outboxStore.ts';
const rowFile = 'src/conversations/row.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'the run id in what a run records',
    group: 'fence',
    changes: [
      {
        file: runStore,
        from: ".where('run_id', '=', runId)\n    .where('steps', '<', step)",
        to: ".where('steps', '<', step)",
      },
    ],
    breaks: ['fenced-writer'],
    seed: 66,
  },
  {
    name: 'the run id in the renewal of a lease',
    group: 'fence',
    changes: [
      {
        file: runStore,
        from: "    .where('run_id', '=', run.runId)\n    .returning('wanted')",
        to: "    .returning('wanted')",
      },
    ],
    breaks: ['fenced-writer'],
  },
  {
    name: 'the run id in the release of a conversation',
    group: 'fence',
    changes: [
      {
        file: runStore,
        from: "        .where('run_id', '=', runId)\n        .returning([...releasedColumns])",
        to: '        .returning([...releasedColumns])',
      },
    ],
    breaks: ['fenced-writer'],
  },
  {
    name: 'the run id in a new title',
    group: 'fence',
    changes: [
      {
        file: runStore,
        from: "      .where('key', '=', key)\n      .where('run_id', '=', runId)\n      .returning([...lockedColumns]),",
        to: "      .where('key', '=', key)\n      .returning([...lockedColumns]),",
      },
    ],
    breaks: ['fenced-writer'],
    seed: 120,
  },
  {
    name: 'the run id in the count of uncaught errors',
    group: 'fence',
    changes: [
      {
        file: runStore,
        from: "      .where('run_id', '=', runId)\n      .where('status', '<>', 'STOPPED')",
        to: "      .where('status', '<>', 'STOPPED')",
      },
    ],
    breaks: ['fenced-writer'],
    seed: 72,
  },
  {
    name: 'that a stopped run records nothing',
    group: 'fence',
    changes: [
      {
        file: runStore,
        from: "return record.isFinal ? ours : ours.where('wanted', 'is', null).where('status', '<>', 'STOPPED');",
        to: 'return ours;',
      },
    ],
    breaks: ['transaction-throws', 'allowed-states', 'outbox'],
    seed: 317,
  },
  {
    name: 'the number of a step, which makes it count once',
    group: 'idempotency',
    changes: [{ file: runStore, from: "    .where('steps', '<', step)\n", to: '' }],
    breaks: ['doubled-step', 'outbox', 'said-and-heard', 'gapless-log'],
  },
  {
    name: 'the check whether a lease is still over when it is released',
    group: 'lease',
    changes: [
      {
        file: sweepStore,
        from: ".set(withoutRun(q))\n        .where('key', '=', key)\n        .where((e) => overdue(q, e, 'lease', times))",
        to: ".set(withoutRun(q))\n        .where('key', '=', key)",
      },
    ],
    breaks: ['one-owner'],
    seed: 82,
  },
  {
    name: 'the last two seconds of every lease',
    group: 'lease',
    changes: [
      {
        file: sweepStore,
        from: "const isPast = isLongAgo(q, e, 'lease_until', 0, times);",
        to: "const isPast = isLongAgo(q, e, 'lease_until', -2_000, times);",
      },
    ],
    breaks: ['one-owner'],
  },
  {
    name: 'the release of conversations whose lease is over',
    group: 'lease',
    changes: [
      { file: 'src/conversations/sweep/service.ts', from: '    await releaseDead(seenAt);\n', to: '' },
    ],
    breaks: ['deadline', 'stuck'],
  },
  {
    name: 'the clock by which a run ends itself',
    group: 'lease',
    changes: [
      {
        file: 'src/runs/lease.ts',
        from: 'if (clock.steady() - renewedAt <= giveUpMs) return true;',
        to: 'if (giveUpMs > 0) return true;',
      },
    ],
    breaks: ['one-owner'],
    seed: 36,
  },
  {
    name: 'that a lease counts from before its renewal was sent',
    group: 'lease',
    changes: [
      {
        file: 'src/runs/lease.ts',
        from: "if (outcome !== 'lost') renewedAt = sentAt;",
        to: "if (outcome !== 'lost') renewedAt = sentAt + (clock.steady() - sentAt);",
      },
    ],
    breaks: ['one-owner'],
    seed: 585,
  },
  {
    name: 'the look-up of a repeated Idempotency-Key',
    group: 'idempotency',
    changes: [
      {
        file: createStore,
        from: 'const found = yield* findClaimed(q, c, claimed);\n      if (found !== undefined) return found;',
        to: '',
      },
    ],
    breaks: ['doubled-message', 'different-answers'],
  },
  {
    name: 'the comparison of requests with the same conversation_id',
    group: 'idempotency',
    changes: [
      {
        file: createStore,
        from: "  if (found.fingerprint !== fingerprint) return { outcome: 'id_taken' };\n",
        to: '  void fingerprint;\n',
      },
    ],
    breaks: ['lost-message'],
    seed: 261,
  },
  {
    name: 'the look-up of a repeated key of a message',
    group: 'idempotency',
    changes: [
      {
        file: lifecycleStore,
        from: '    if (claimed === undefined) {\n',
        to: '    if (claimed !== null) {\n',
      },
    ],
    breaks: ['doubled-message', 'different-answers'],
  },
  {
    name: 'that only an expired key can be claimed again',
    group: 'idempotency',
    changes: [
      {
        file: keyStore,
        from: "        .doUpdateSet(taken)\n        .where('idempotency.expires_at', '<=', q.now),",
        to: '        .doUpdateSet(taken),',
      },
    ],
    breaks: ['doubled-message', 'different-answers'],
  },
  {
    name: 'the release of the key of a refused message',
    group: 'idempotency',
    changes: [
      {
        file: lifecycleStore,
        from: "      if (woken === 'too_many') yield* releaseKey(q, userId, idempotency.keyHash);\n",
        to: '',
      },
    ],
    breaks: ['lost-message'],
    seed: 299,
  },
  {
    name: 'that a refused message is not counted as said',
    group: 'messages',
    changes: [
      {
        file: lifecycleStore,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a part of the source
        from: 'said: sql<number>`case when ${lives} then next_event + 1 else said end`,',
        to: 'said: sql<number>`next_event + 1`,',
      },
    ],
    breaks: ['said-and-heard'],
    seed: 204,
  },
  {
    name: 'that a conversation is stopped once',
    group: 'log',
    changes: [
      {
        file: lifecycleStore,
        from: "  if (locked.status === 'STOPPED') return { key: locked.key, status: 'STOPPED', changed: false };\n",
        to: '',
      },
    ],
    breaks: ['transaction-throws'],
  },
  {
    name: 'that only an open approval request is answered',
    group: 'idempotency',
    changes: [
      {
        file: 'src/conversations/confirm/store.ts',
        from: "      .where('question', 'is not', null)\n",
        to: '',
      },
    ],
    breaks: ['wrong-answer'],
    seed: 532,
  },
  {
    name: 'which approval request an answer is for',
    group: 'idempotency',
    changes: [
      {
        file: 'src/conversations/confirm/store.ts',
        from: "question === null ? open : open.where('question', '=', question)",
        to: 'open',
      },
    ],
    breaks: ['wrong-answer'],
    seed: 77,
  },
  {
    name: 'the deadline for progress while a run starts',
    group: 'deadline',
    changes: [
      {
        file: sweepStore,
        from: "e.or([isOld('active_at', times.startStalledMs), isOld('claimed_at', times.startMs)])",
        to: "isOld('claimed_at', times.startMs)",
      },
    ],
    breaks: ['deadline'],
    seed: 73,
  },
  {
    name: 'the deadline for the whole start',
    group: 'deadline',
    changes: [
      {
        file: sweepStore,
        from: "e.or([isOld('active_at', times.startStalledMs), isOld('claimed_at', times.startMs)])",
        to: "isOld('active_at', times.startStalledMs)",
      },
    ],
    breaks: ['deadline', 'stuck'],
  },
  {
    name: 'the deadline for idle runs',
    group: 'deadline',
    changes: [{ file: sweepStore, from: "          isOld('active_at', times.idleMs),\n", to: '' }],
    breaks: ['deadline', 'stuck'],
  },
  {
    name: 'the deadline for runs that nobody follows',
    group: 'deadline',
    changes: [
      {
        file: 'src/conversations/sweep/service.ts',
        from: "    if (times.unattendedMs) await stopKind('unattended', stopReason('finished'), seenAt);\n",
        to: '',
      },
    ],
    breaks: ['deadline'],
  },
  {
    name: 'room for conversations that wait for a worker',
    group: 'deadline',
    changes: [
      {
        file: 'src/conversations/sweep/service.ts',
        from: "      await stop(key, 'room', stopReason('idle', madeRoom));\n",
        to: '      void key;\n',
      },
    ],
    breaks: ['stuck', 'deadline'],
    seed: 299,
  },
  {
    name: 'the lease of a delivery',
    group: 'lease',
    changes: [
      {
        file: outboxStore,
        from: 'next_at: later(q, leaseMs), attempts',
        to: 'next_at: later(q, leaseMs * 0), attempts',
      },
    ],
    breaks: ['doubled-delivery'],
  },
  {
    name: 'that a delivery is claimed only when it is due',
    group: 'lease',
    changes: [
      {
        file: outboxStore,
        from: "    .where('webhook_id', '=', webhookId)\n    .where('next_at', '<=', q.now)",
        to: "    .where('webhook_id', '=', webhookId)",
      },
    ],
    breaks: ['doubled-delivery'],
  },
  {
    name: 'the deliveries of new events',
    group: 'outbox',
    changes: [
      {
        file: rowFile,
        from: '  if (added !== undefined || waiting !== undefined)\n',
        to: '  if (waiting !== undefined)\n',
      },
    ],
    breaks: ['outbox'],
  },
  {
    name: 'the delivery of a new status',
    group: 'outbox',
    changes: [
      {
        file: rowFile,
        from: '  yield* recordDeliveries(q, { ...deliverySourceOf(locked), status, events: added });\n',
        to: '  yield* recordDeliveries(q, { ...deliverySourceOf(locked), events: added });\n',
      },
    ],
    breaks: ['outbox'],
  },
  {
    name: 'the deliveries of a creation',
    group: 'outbox',
    changes: [{ file: createStore, from: '        yield* recordCreation(q, c, key);\n', to: '' }],
    breaks: ['outbox', 'changes'],
  },
  {
    name: 'the results of actions that were interrupted by the end of a lease',
    group: 'log',
    changes: [
      {
        file: sweepStore,
        from: '    yield* closeInterruptedTurn(q, released, at);\n    return released.user_id;',
        to: '    return released.user_id;',
      },
    ],
    breaks: ['unfinished-action'],
    seed: 47,
  },
  {
    name: 'the results of actions that were interrupted by a stop',
    group: 'log',
    changes: [
      {
        file: runStore,
        from: '    yield* closeInterruptedTurn(q, released, at);\n    return true;',
        to: '    return true;',
      },
    ],
    breaks: ['unfinished-action'],
    seed: 134,
  },
  {
    name: 'that messages of an interrupted turn are marked as repeated',
    group: 'messages',
    changes: [
      {
        file: 'src/runs/prompts/prompts.ts',
        from: 'return [...before, ...textBlock(interrupted), ...again];',
        to: 'return [...before, ...(await toPromptBlocks(await turnMessages())), ...again.slice(0, 0)];',
      },
    ],
    breaks: ['doubled-message'],
  },
  {
    name: 'the messages of a turn that was stopped',
    group: 'messages',
    changes: [
      {
        file: 'src/runs/prompts/prompts.ts',
        from: 'return recalled ? [] : repetition(stoppedBefore);',
        to: 'return recalled || stoppedBefore ? [] : repetition(stoppedBefore);',
      },
    ],
    breaks: ['lost-message'],
    seed: 80,
  },
  {
    name: 'the record of what an agent was given',
    group: 'messages',
    changes: [
      {
        file: 'src/runs/turns.ts',
        from: 'progress: { turn_open: 1, turn_from: turnFrom, heard },',
        to: 'progress: { turn_open: 1, turn_from: turnFrom },',
      },
    ],
    breaks: ['doubled-message', 'stuck', 'outbox'],
  },
  {
    name: 'that a conversation which starts again is left to its machine',
    group: 'reservation',
    changes: [{ file: rowFile, from: "        ...(to === 'STARTING' ? reservation(q) : {}),\n", to: '' }],
    breaks: ['home-machine'],
  },
  {
    name: 'that a conversation whose run has ended is left to its machine',
    group: 'reservation',
    changes: [{ file: rowFile, from: '({ ...noRun, ...reservation(q) })', to: '(void q, noRun)' }],
    breaks: ['home-machine'],
  },
  {
    name: 'the longer time for a machine that has the only copy',
    group: 'reservation',
    changes: [
      { file: 'src/conversations/reservation.ts', from: 'sql.lit(onlyCopyWaitMs)', to: 'sql.lit(0)' },
    ],
    breaks: ['home-machine'],
    seed: 24,
  },
  {
    name: 'the bound of the time for which a conversation is left to its machine',
    group: 'reservation',
    changes: [
      { file: reservationStore, from: 'sql`and reserved_until', to: 'sql`and 1 = 0 and reserved_until' },
    ],
    breaks: ['deadline'],
  },
  {
    name: 'that only a conversation without a run is claimed',
    group: 'lock',
    changes: [
      {
        file: claimStore,
        from: "run_id is null and status <> 'STOPPED'\n        order by",
        to: "status <> 'STOPPED'\n        order by",
      },
    ],
    breaks: ['claim and claim'],
  },
  {
    name: 'that no stopped conversation is claimed',
    group: 'lock',
    changes: [
      {
        file: claimStore,
        from: "run_id is null and status <> 'STOPPED'\n        order by",
        to: 'run_id is null\n        order by key,',
      },
    ],
    breaks: ['stop and claim'],
  },
  {
    name: 'the lock of a user whose waiting conversations are counted',
    group: 'lock',
    changes: [
      {
        file: 'src/conversations/create/waiting.ts',
        from: '  yield* lockUsers(q, [userId]);\n',
        to: '',
      },
    ],
    breaks: ['create and create of a user who may have one more that waits'],
  },
  {
    name: 'the lock of a conversation that its user changes',
    group: 'lock',
    changes: [
      {
        file: rowFile,
        from: "    .updateTable('conversations')\n    .set((e) => ({ next_event: e.ref('next_event') }))\n    .where('user_id', '=', userId)\n    .where('id', '=', id)\n    .returning([...lockedColumns]),",
        to: "    .selectFrom('conversations')\n    .where('user_id', '=', userId)\n    .where('id', '=', id)\n    .select([...lockedColumns]),",
      },
    ],
    breaks: ['stop and stop'],
  },
  {
    name: 'the lock of a conversation that gets a snapshot',
    group: 'lock',
    changes: [
      {
        file: 'src/workspaces/snapshots/store.ts',
        from: "      .updateTable('conversations')\n      .set((e) => ({ next_event: e.ref('next_event') }))\n      .where('key', '=', key)\n      .where('run_id', '=', runId)\n      .returning(['user_id', 'id']),",
        to: "      .selectFrom('conversations')\n      .where('key', '=', key)\n      .where('run_id', '=', runId)\n      .select(['user_id', 'id']),",
      },
    ],
    breaks: ['delete and new snapshot'],
  },
  {
    name: 'the locks of deliveries that are claimed',
    group: 'lock',
    changes: [
      {
        file: outboxStore,
        from: "return q.kind === 'postgres' ? query.forUpdate().skipLocked() : query;",
        to: 'return query;',
      },
    ],
    breaks: ['delivery and delivery'],
  },
];
