// Ends the run of an agent that reports an edit, deletion, move or command without approval while the user has to
// approve actions. It cannot see what an agent does without reporting it.

import type { Risk } from '../../agents/acp/callEvents.ts';
import { callIdOf, commandIn, exitCodeOf, isWriting, textField } from '../../agents/acp/callFields.ts';
import { quote } from '../../agents/acp/errors.ts';
import type { Params } from '../../agents/acp/peer.ts';
import { decide, isAbove, type Policy, riskOf } from '../../agents/acp/permissions.ts';
import { type Clock, systemClock, type Timer } from '../../process/clock.ts';
import { isObject } from '../../text/foreignText.ts';
import { RunEnd } from '../runEnd.ts';

/** Some agents report a call as in progress before they ask. After this time the call counts as not asked for. */
const askWithinMs = 10_000;
const callsMax = 1_000;

const actingKinds: ReadonlyMap<string, string> = new Map([
  ['edit', 'edited'],
  ['delete', 'deleted'],
  ['move', 'moved'],
  ['execute', 'ran'],
]);

interface WatchedCall {
  kind: string;
  status: unknown;
  title: string;
  command: string | undefined;
  path: string | undefined;
  /** It carries a diff, or a text to write. */
  isWriting: boolean;
  /** An approval request for the call is open. */
  hasOpenRequest: boolean;
  /** The highest risk that the user has allowed for the call. */
  allowed: Risk | undefined;
  /** The command that the user has allowed. */
  allowedCommand: string | undefined;
  /** The call has begun, or its approval was used for another call. */
  isUsed: boolean;
  timer: Timer | undefined;
}

export type ApprovalOutcome = 'allowed' | 'allowed_always' | 'refused';

export interface ActionGuard {
  /** Checks an update. Returns the reason if the run must end. */
  take(update: Params): RunEnd | undefined;
  /** Must be called when an approval request arrives. */
  requestOpened(toolCall: Params): void;
  /** Must be called when the request is answered, with the risk that it was shown with. */
  requestAnswered(toolCall: Params, outcome: ApprovalOutcome, risk: Risk): void;
  /** The kind that a call counts as; undefined if it is not known. */
  kindOf(toolCall: Params): string | undefined;
  /** The tool kinds that the user has always allowed. */
  alwaysAllowed(): string[];
  close(): void;
}

interface GuardOptions {
  readonly policy: () => Policy;
  /** The tool kinds that the user has always allowed in earlier runs. */
  readonly always: readonly string[];
  /** Called if an agent continues a call without asking for approval. */
  readonly onUnapproved: (end: RunEnd) => void;
  readonly withinMs?: number;
  readonly clock?: Clock;
}

/** What the call does. A command or a change that it carries counts more than the kind that the agent gave it. */
function actionOf({ kind, command, isWriting: writes }: WatchedCall): string {
  if (command !== undefined) return 'execute';
  return writes && !actingKinds.has(kind) ? 'edit' : kind;
}

function unconfirmed(call: WatchedCall): RunEnd {
  const { command, path, title } = call;
  const what = quote(command ?? path ?? title) || 'something that it did not name';
  return new RunEnd(
    'unconfirmed_action',
    `The agent ${actingKinds.get(actionOf(call))} something that nobody had approved, although confirmation_mode is on: ${what}. It was stopped. Check what it did before you continue.`,
  );
}

/** A failed call with an exit code counts as well, because its command did run. */
function hasActed({ status }: WatchedCall, update: Params): boolean {
  return status === 'completed' || (status === 'failed' && exitCodeOf(update) !== undefined);
}

export function createActionGuard(options: GuardOptions): ActionGuard {
  const { policy, onUnapproved: onUnasked, withinMs = askWithinMs, clock = systemClock } = options;
  const calls = new Map<string, WatchedCall>();
  const always = new Set(options.always);

  function stopTimer(call: WatchedCall): void {
    call.timer?.stop();
    call.timer = undefined;
  }

  function callOf(id: string): WatchedCall {
    const known = calls.get(id);
    if (known !== undefined) return known;
    const call: WatchedCall = {
      kind: 'other',
      status: 'pending',
      title: '',
      command: undefined,
      path: undefined,
      isWriting: false,
      hasOpenRequest: false,
      allowed: undefined,
      allowedCommand: undefined,
      isUsed: false,
      timer: undefined,
    };
    calls.set(id, call);
    const [oldest] = calls;
    if (calls.size > callsMax && oldest !== undefined) {
      stopTimer(oldest[1]);
      calls.delete(oldest[0]);
    }
    return call;
  }

  function merge(call: WatchedCall, update: Params): void {
    const { kind, status, title, rawInput, locations } = update;
    if (typeof kind === 'string') call.kind = kind;
    if (typeof status === 'string') call.status = status;
    if (typeof title === 'string') call.title = title;
    call.command = commandIn(rawInput) ?? call.command;
    const [place] = Array.isArray(locations) ? locations : [];
    call.path = textField(isObject(place) ? place : undefined, 'path') ?? call.path;
    call.isWriting ||= isWriting(update);
  }

  /** Finds the approval of a call whose request had another id, as some agents do. Each approval is used once. */
  function takePermission(call: WatchedCall): void {
    const isSame = (other: WatchedCall) => {
      if (call.command !== undefined || other.command !== undefined) return call.command === other.command;
      if (call.path !== undefined || other.path !== undefined) return call.path === other.path;
      return call.title !== '' && call.title === other.title;
    };
    const other = [...calls.values()].find(
      (one) => one !== call && one.allowed !== undefined && !one.isUsed && isSame(one),
    );
    if (other === undefined) return;
    other.isUsed = true;
    call.allowed = other.allowed;
    call.allowedCommand = other.allowedCommand;
  }

  function isAllowed(call: WatchedCall): boolean {
    const risk = riskOf(actionOf(call));
    if (decide(policy(), risk) === 'allow') {
      // The call stays allowed if the settings change while it runs.
      call.allowed ??= risk;
      return true;
    }
    if (always.has(actionOf(call))) return true;
    if (call.allowed === undefined) takePermission(call);
    const { allowed, allowedCommand, command } = call;
    if (allowed === undefined || isAbove(risk, allowed)) return false;
    return allowedCommand === undefined || command === undefined || command === allowedCommand;
  }

  return {
    take: (update) => {
      const id = callIdOf(update);
      if (id === undefined) return undefined;
      const call = callOf(id);
      merge(call, update);
      if (call.status === 'pending') return undefined;
      if (!actingKinds.has(actionOf(call)) || isAllowed(call)) {
        call.isUsed = true;
        stopTimer(call);
        return undefined;
      }
      if (hasActed(call, update)) {
        stopTimer(call);
        return unconfirmed(call);
      }
      if (call.status === 'failed' || call.hasOpenRequest) stopTimer(call);
      else call.timer ??= clock.after(withinMs, () => onUnasked(unconfirmed(call)));
      return undefined;
    },
    requestOpened: (toolCall) => {
      const id = callIdOf(toolCall);
      if (id === undefined) return;
      const call = callOf(id);
      merge(call, { ...toolCall, status: undefined });
      call.hasOpenRequest = true;
      stopTimer(call);
    },
    requestAnswered: (toolCall, outcome, risk) => {
      const id = callIdOf(toolCall);
      if (id === undefined) return;
      const call = callOf(id);
      call.hasOpenRequest = false;
      if (outcome === 'refused') return;
      call.allowed = risk;
      call.allowedCommand = commandIn(toolCall['rawInput']) ?? call.command;
      if (outcome === 'allowed_always') always.add(actionOf(call));
    },
    kindOf: (toolCall) => {
      const call = calls.get(callIdOf(toolCall) ?? '');
      return call === undefined ? undefined : actionOf(call);
    },
    alwaysAllowed: () => [...always],
    close: () => {
      for (const call of calls.values()) stopTimer(call);
    },
  };
}
