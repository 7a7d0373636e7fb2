// Takes the byte stream of a PostgreSQL connection apart into messages: see "Message Formats" in PostgreSQL's manual.

export interface PostgresMessage {
  readonly from: 'client' | 'server';
  /** Connections are counted from 1. */
  readonly connection: number;
  readonly name: string;
  /** The SQL of a Query, Parse or Bind, the tag of a CommandComplete, the code of an ErrorResponse; otherwise empty. */
  readonly text: string;
  /** It belongs to a prepared statement, or follows one, rather than a Query. */
  readonly isPrepared: boolean;
  /** The process of the database that serves this connection; 0 before it has said so. */
  readonly pid: number;
  readonly bytes: Buffer;
}

const names = {
  client: {
    p: 'Password',
    Q: 'Query',
    P: 'Parse',
    B: 'Bind',
    D: 'Describe',
    E: 'Execute',
    S: 'Sync',
    X: 'Terminate',
  },
  server: {
    R: 'Authentication',
    S: 'ParameterStatus',
    K: 'BackendKeyData',
    Z: 'ReadyForQuery',
    '1': 'ParseComplete',
    '2': 'BindComplete',
    T: 'RowDescription',
    n: 'NoData',
    D: 'DataRow',
    C: 'CommandComplete',
    E: 'ErrorResponse',
    N: 'NoticeResponse',
    A: 'NotificationResponse',
  },
} as const;

const headBytes = 5;
const startupHeadBytes = 4;

function textOf(name: string, body: Buffer, { statements }: PostgresSession): string {
  const texts = body.toString('utf8').split('\0');
  if (name === 'Query' || name === 'CommandComplete') return texts[0] ?? '';
  // Behind the name of the statement.
  if (name === 'Parse') return texts[1] ?? '';
  if (name === 'Bind') return statements.get(texts[1] ?? '') ?? '';
  if (name === 'ErrorResponse') return texts.find((field) => field.startsWith('C'))?.slice(1) ?? '';
  return '';
}

/** What is known of a connection, whichever side said it. */
export interface PostgresSession {
  readonly connection: number;
  pid: number;
  /** The SQL of prepared statements by their name. */
  readonly statements: Map<string, string>;
  isPrepared: boolean;
}

export function createSession(connection: number): PostgresSession {
  return { connection, pid: 0, statements: new Map(), isPrepared: false };
}

/** Returns the messages that are complete with each piece of data. */
export function createMessageReader(from: PostgresMessage['from'], session: PostgresSession) {
  const { connection } = session;
  let rest = Buffer.alloc(0);
  // The first message of a client has no type.
  let starting = from === 'client';

  return function* read(data: Buffer): Generator<PostgresMessage> {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const head = starting ? startupHeadBytes : headBytes;
      if (rest.length < head) return;
      const length = rest.readInt32BE(head - 4) + head - 4;
      if (rest.length < length) return;
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      const type = String.fromCharCode(bytes[0] ?? 0);
      const name = starting ? 'Startup' : ((names[from] as Record<string, string>)[type] ?? type);
      starting = false;
      const body = bytes.subarray(head);
      if (name === 'BackendKeyData') session.pid = body.readInt32BE(0);
      const text = textOf(name, body, session);
      if (name === 'Parse') session.statements.set(body.toString('utf8').split('\0', 1)[0] ?? '', text);
      if (name === 'Query' || name === 'Bind') session.isPrepared = name === 'Bind';
      yield { from, connection, name, text, isPrepared: session.isPrepared, pid: session.pid, bytes };
    }
  };
}
