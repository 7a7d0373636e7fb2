// Compares a pod that others have specified with the one that Parley would create. Nothing is sent to a pod that could do
// more, or that is limited in another way.
import { managedBy } from './podSpec.ts';
import type { ObjectMeta } from './podStatus.ts';

const namedMax = 3;
const shownCharsMax = 60;

/** What the API server, the controller or the operator may set, because it gives no rights. [] is any element. */
const harmless: ReadonlySet<string> = new Set([
  ...['nodeName', 'nodeSelector', 'affinity', 'tolerations', 'topologySpreadConstraints', 'schedulingGates'],
  ...['schedulerName', 'priority', 'priorityClassName', 'preemptionPolicy', 'overhead', 'readinessGates'],
  ...['dnsPolicy', 'dnsConfig', 'imagePullSecrets', 'hostUsers'],
  // Without a token, it makes no difference which one it is.
  ...['serviceAccountName', 'serviceAccount'],
  ...['containers[].terminationMessagePath', 'containers[].terminationMessagePolicy'],
  ...['containers[].imagePullPolicy', 'containers[].resizePolicy', 'containers[].resources.requests'],
]);

/** Harmless with this value alone, which newer versions of the API server set. */
const defaults: Readonly<Record<string, unknown>> = {
  'containers[].securityContext.procMount': 'Default',
  'securityContext.fsGroupChangePolicy': 'Always',
};

const quantities = /(\.limits\.[^.]+|\.sizeLimit)$/;
const units: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  ...Object.fromEntries(['k', 'M', 'G', 'T', 'P', 'E'].map((unit, n) => [unit, 1_000 ** (n + 1)])),
  ...Object.fromEntries(['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit, n) => [unit, 1_024 ** (n + 1)])),
};

/** The value of a quantity such as 4Gi or 500m; NaN if it is none. */
export function parseQuantity(text: unknown): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([a-zA-Z]{0,2})$/.exec(String(text)) ?? [];
  return number === undefined ? Number.NaN : Number(number) * (units[unit] ?? Number.NaN);
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** As if it were not set. */
function isEmpty(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === false || value === '';
}

function isSame(path: string, wanted: unknown, found: unknown): boolean {
  return quantities.test(path) ? parseQuantity(wanted) === parseQuantity(found) : wanted === found;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text;
}

function* compare(path: string, wanted: unknown, found: unknown): Generator<string> {
  const general = path.replace(/\[\d+\]/g, '[]');
  if (harmless.has(general) || isSame(path, wanted, found)) return;
  if (wanted === undefined) {
    if (!isEmpty(found) && !(general in defaults && defaults[general] === found))
      yield `${path} must not be set`;
  } else if (found === undefined) yield `${path} is missing`;
  else if (isObject(wanted) && isObject(found) && Array.isArray(wanted) === Array.isArray(found)) {
    const isArray = Array.isArray(wanted);
    for (const key of new Set([...Object.keys(wanted), ...Object.keys(found)])) {
      const below = isArray ? `${path}[${key}]` : [path, key].filter((part) => part !== '').join('.');
      yield* compare(below, wanted[key], found[key]);
    }
  } else yield `${path} is ${show(found)} instead of ${show(wanted)}`;
}

/** Annotations that take away the filters of the container engine. */
function* compareMetadata({ labels = {}, annotations = {} }: Partial<ObjectMeta>): Generator<string> {
  // The network policy selects pods by this label.
  for (const [name, value] of Object.entries(managedBy))
    if (labels[name] !== value) yield `the label ${name} is not ${value}`;
  for (const [name, value] of Object.entries(annotations))
    if (/apparmor|seccomp/.test(name) && value === 'unconfined') yield `the annotation ${name} is ${value}`;
}

interface CheckedPod {
  readonly metadata?: Partial<ObjectMeta> | undefined;
  readonly spec?: object | undefined;
}

/** What is different, as a clause; undefined if the pod is as safe as `wanted`. */
export function findDifference(wanted: object, { metadata = {}, spec }: CheckedPod): string | undefined {
  const all = [...compareMetadata(metadata), ...compare('', wanted, spec ?? {})];
  if (all.length === 0) return undefined;
  const others = all.length - namedMax;
  return all.slice(0, namedMax).join(', ') + (others > 0 ? `, and ${others} more` : '');
}
