// Closes files that the parent process left open, such as a lock or a pipe of a shell. Otherwise programs that the
// service starts would inherit them, in a sandbox or not.
import { closeSync, readdirSync, readFileSync } from 'node:fs';

const standardMax = 2;
const closeOnExec = 0o2000000;

/** Node's own files are closed on exec; others were inherited. */
function isInherited(descriptor: number): boolean {
  const [, flags = ''] =
    /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
  return (Number.parseInt(flags, 8) & closeOnExec) === 0;
}

/** Closes inherited files, if the system lists them. It must be called before anything else is opened. */
export function closeInherited(): void {
  const channel = Number(process.env['NODE_CHANNEL_FD'] ?? Number.NaN);
  let names: string[] = [];
  try {
    names = readdirSync('/proc/self/fd');
  } catch {
    // This system does not list open files.
  }
  for (const descriptor of names.map(Number).filter((one) => one > standardMax && one !== channel)) {
    try {
      if (isInherited(descriptor)) closeSync(descriptor);
    } catch {
      // It was the descriptor of the folder itself, or is closed already.
    }
  }
}
