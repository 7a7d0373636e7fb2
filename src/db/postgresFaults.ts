// Classifies PostgreSQL errors: whether anything may have been stored, and which error callers get.
import pg from 'pg';
import { AppError } from '../errors.ts';
import { outcomeUnknown, tooLate } from './outcomes.ts';

/** The answer to a COMMIT was lost, so the transaction may have been committed. */
export class CommitUnknown extends Error {
  constructor(cause: unknown) {
    super('the answer to COMMIT was lost', { cause });
    this.name = 'CommitUnknown';
  }
}

/** No connection was available. Nothing was sent. */
export class ConnectFailed extends Error {
  constructor(cause: unknown) {
    super('no connection', { cause });
    this.name = 'ConnectFailed';
  }
}

/** The database did not answer before the deadline. COMMIT was not sent. */
export class AnswerLate extends Error {
  constructor() {
    super('no answer before the deadline');
    this.name = 'AnswerLate';
  }
}

/** The deadline passed before COMMIT was sent, or the database refused it as too late. */
export class DeadlinePassed extends Error {
  constructor() {
    super('the deadline has passed');
    this.name = 'DeadlinePassed';
  }
}

export type Fault =
  /** Another transaction won; this one can be retried. */
  | 'conflict'
  | 'locked'
  | 'late'
  /** The connection broke; a new one may work. */
  | 'lost'
  | 'readOnly'
  /** A statement that was prepared on the connection no longer works there. */
  | 'staleStatement'
  | 'unavailable'
  | 'unknown'
  /** Not a database fault: a bug, or an error meant for the caller. */
  | 'other';

const conflictCodes: ReadonlySet<string> = new Set(['40001', '40P01']);
const lockTimeoutCode = '55P03';
const readOnlyCode = '25006';
/** A migration has changed the type of a result, or something between us and PostgreSQL has forgotten the statement. */
const staleStatement = /^(0A000 .*cached plan must not change result type|26000 )/;
const lostCodes = /^(08|25P03$|57P01$|57P02$|57P05$|ECONNRESET$|EPIPE$)/;
const lostText = /connection terminated|not queryable/i;
// Refused or too many connections, a shutdown or a full disk (see "PostgreSQL Error Codes" in its manual), and errors
// of the operating system.
const unavailableCodes = /^(57P|57014$|53|E(?!RR_)[A-Z_]+$)/;
const unavailableText = /timeout|connection error/i;

export function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '');
}

export function faultOf(error: unknown): Fault {
  if (error instanceof AppError) return 'other';
  if (error instanceof CommitUnknown) return 'unknown';
  if (error instanceof DeadlinePassed) return 'late';
  if (error instanceof AnswerLate) return 'unavailable';
  if (error instanceof ConnectFailed) return faultOf(error.cause) === 'lost' ? 'lost' : 'unavailable';
  const code = codeOf(error);
  const text = String(error);
  if (conflictCodes.has(code)) return 'conflict';
  if (code === lockTimeoutCode) return 'locked';
  if (code === readOnlyCode) return 'readOnly';
  if (staleStatement.test(`${code} ${text}`)) return 'staleStatement';
  if (lostCodes.test(code) || lostText.test(text)) return 'lost';
  if (unavailableCodes.test(code) || unavailableText.test(text)) return 'unavailable';
  return 'other';
}

/** Whether the error is an answer of PostgreSQL itself, in which case the connection usually still works. */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && codeOf(error) !== '' && faultOf(error) !== 'lost';
}

/** Translates a fault into the error that callers get. */
export function describeFault(error: unknown): unknown {
  switch (faultOf(error)) {
    case 'other':
      return error;
    case 'unknown':
      return outcomeUnknown(error);
    case 'late':
      return tooLate(error);
    case 'conflict':
    case 'locked':
      return new AppError('overloaded', 'Too many requests are changing the same data; try again.', {
        retryAfterS: 1,
        cause: error,
      });
    default:
      return new AppError('database_unavailable', 'The database cannot be reached right now.', {
        retryAfterS: 2,
        cause: error instanceof ConnectFailed ? error.cause : error,
      });
  }
}
