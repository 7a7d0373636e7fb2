// Files that whoever started the service left open for it: a lock, a pipe of a shell. Programs that the service starts
// would have them, too, in a sandbox or not.
import { closeSync, readdirSync, readFileSync } from 'node:fs';

const standardMax = 2;
const closeOnExec = 0o2000000;

/** What Node opens itself is closed in programs that it starts; what is not, was there before. */
function isInherited(descriptor: number): boolean {
  const [, flags = ''] =
    /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
  return (Number.parseInt(flags, 8) & closeOnExec) === 0;
}

/** Closes them, where the system tells of them. Call it before anything else is opened. */
export function closeInherited(): void {
  const channel = Number(process.env['NODE_CHANNEL_FD'] ?? Number.NaN);
  let names: string[] = [];
  try {
    names = readdirSync('/proc/self/fd');
  } catch {
    // Another system.
  }
  for (const descriptor of names.map(Number).filter((one) => one > standardMax && one !== channel)) {
    try {
      if (isInherited(descriptor)) closeSync(descriptor);
    } catch {
      // It was that of the folder itself, or is gone.
    }
  }
}
