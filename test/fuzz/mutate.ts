// Makes a line of an agent invalid: other types, missing and foreign keys, deep and large values, half characters, half
// lines. The same random numbers give the same line.
import type { Random } from '../chaos/random.ts';
import type { Json } from './messages.ts';

const kib = 1_024;
/** Longer ones are looked at more closely before they are parsed, and end the run where they are nested too deeply. */
const closelyReadBytes = 32 * kib;
const levelsMax = 900;

const names = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'toJSON', 'hasOwnProperty', 'then'],
  ...[
    'length',
    'id',
    'method',
    'params',
    'result',
    'error',
    'sessionId',
    'update',
    'sessionUpdate',
    'content',
  ],
  ...[
    'type',
    'text',
    'kind',
    'status',
    'title',
    'rawInput',
    'command',
    'toolCallId',
    'entries',
    '',
    '\ud800',
  ],
];
const words = [
  ...['', ' ', '\ud800', '\udc00', 'a\ud83d', '\u0000', '\u2028', '\n', '\r\n', '\\ud800', '"', '`'],
  ...['__proto__', 'constructor', 'toString', 'completed', 'execute', 'text', 'diff', '../../etc/passwd'],
  ...['\u202e', '\ufffd\ufffd\ufffd', 'mcp__a__b', 'NaN', '-0', 'null', '[object Object]'],
];
const numbers = [0, -1, 1.5, 2 ** 53, -(2 ** 53), 1e308, 5e-324, 4_294_967_296, -32_000];

function nested(random: Random): unknown {
  // Few are very deep: their JSON takes long to write.
  const levels = random.chance(0.05) ? random.pick([levelsMax, 3_000]) : random.between(2, 60);
  const inObjects = random.chance(0.3) && levels <= levelsMax;
  let value: unknown = random.pick(words);
  for (let i = 0; i < levels; i++) value = inObjects ? { content: value } : [value];
  return value;
}

function longText(random: Random): string {
  const length = random.chance(0.02) ? 256 * kib : random.chance(0.2) ? 20 * kib : kib;
  const word = random.pick([...words, 'x', 'word ', 'line\n', 'mcp__a.', '\ufffd', '<&>']);
  return word === '' ? '' : word.repeat(Math.ceil(length / word.length)).slice(0, length);
}

function hostileValue(random: Random, depth = 0): unknown {
  switch (random.between(0, depth > 2 ? 5 : 9)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick(numbers);
    case 3:
      return random.pick(words);
    case 4:
    case 5:
      return { toString: 1, valueOf: 1 };
    case 6:
      return longText(random);
    case 7:
      return Array.from({ length: random.between(0, 5) }, () => hostileValue(random, depth + 1));
    case 8:
      return Object.fromEntries(
        Array.from({ length: random.between(0, 5) }, () => [
          random.pick(names),
          hostileValue(random, depth + 1),
        ]),
      );
    default:
      return random.chance(0.1)
        ? Array.from({ length: random.between(100, 2_000) }, () => random.pick<unknown>([{}, [], 0, 'x']))
        : nested(random);
  }
}

interface Place {
  readonly holder: Json;
  readonly name: string;
}

/** Every member of the message and of all that is in it, as far as it is not itself the work of the fuzzer. */
function placesIn(holder: Json, depth = 0): Place[] {
  if (depth > 8) return [];
  return Object.entries(holder).flatMap(([name, value]) => [
    { holder, name },
    ...(typeof value === 'object' && value !== null ? placesIn(value as Json, depth + 1) : []),
  ]);
}

function put(holder: Json, name: string, value: unknown): void {
  // A plain assignment to `__proto__` would not make a member of it.
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function mutateValue(message: Json, random: Random): void {
  const places = placesIn(message);
  if (places.length === 0) return;
  const { holder, name } = random.pick(places);
  switch (random.between(0, 6)) {
    case 0:
      if (Array.isArray(holder)) put(holder, name, null);
      else delete holder[name];
      break;
    case 1:
      put(holder, Array.isArray(holder) ? name : random.pick(names), hostileValue(random));
      break;
    case 2:
      put(holder, name, [holder[name]]);
      break;
    case 3:
      put(holder, name, { [random.pick(names)]: holder[name] });
      break;
    case 4: {
      const { holder: from, name: source } = random.pick(places);
      // A copy: one in itself would have no end.
      put(holder, name, parse(JSON.stringify(from[source]) ?? 'null') ?? null);
      break;
    }
    default:
      put(holder, name, hostileValue(random));
  }
}

function mutateBytes(line: Buffer, random: Random): Buffer {
  const at = random.between(0, line.length);
  const [head, tail] = [line.subarray(0, at), line.subarray(at)];
  switch (random.between(0, 7)) {
    case 0:
      // Half a line, and the next one right behind it.
      return head;
    case 1:
      return Buffer.concat([head, Buffer.from('\n'), tail]);
    case 2:
      return Buffer.concat([line, line]);
    case 3:
      return Buffer.concat([head, Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0]), tail]);
    case 4:
      return Buffer.from(line.toString().replace(/:\d+/, ':1e999'));
    case 5:
      return Buffer.concat([Buffer.from('\ufeff \t'), line, Buffer.from('\r')]);
    case 6:
      return Buffer.from(line.toString().replace('{', '{"method":"session/update","method":1,'));
    default:
      return Buffer.concat([head, Buffer.from(random.pick(['{', '}', '[', '"', ',', '\\', '\u0000'])), tail]);
  }
}

/** Changes the message, and gives its line without the line break. */
export function mutatedLine(message: Json, random: Random): Buffer {
  const mutations = random.between(1, 4);
  for (let i = 0; i < mutations; i++) mutateValue(message, random);
  const line = Buffer.from(JSON.stringify(message));
  return random.chance(0.15) ? mutateBytes(line, random) : line;
}

/** Whether the service would rightly end the run of an agent that sends it. */
export function endsRun(line: Buffer, promptId: unknown): boolean {
  if (line.length <= closelyReadBytes && !line.includes('"id"')) return false;
  return line
    .toString()
    .split('\n')
    .some((one) => {
      if (one.length > closelyReadBytes / 3 && depthOf(one) > levelsMax) return true;
      const read = parse(one) as Json | null | undefined;
      return read != null && typeof read['method'] !== 'string' && read['id'] === promptId;
    });
}

/** More than it is where brackets stand in texts. */
function depthOf(json: string): number {
  let [depth, most] = [0, 0];
  for (const [bracket] of json.matchAll(/[[{\]}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    most = Math.max(most, depth);
  }
  return most;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
