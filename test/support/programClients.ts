// HTTP clients that are programs: curl, and three libraries of Python.
import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { answerMsMax, type Client, type Received, type Sent } from './clientMatrix.ts';

const script = fileURLToPath(new URL('./pythonClients.py', import.meta.url));
/** Debian's modules belong to its own Python, which need not be the first in the path. */
const pythons = ['python3', '/usr/bin/python3'];
const statusMark = '\nstatus:';

async function run(command: string, args: readonly string[], input: string): Promise<string> {
  const child = spawn(command, args, { stdio: 'pipe' });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on('close', resolve)),
  ]);
  if (code !== 0) throw new Error(`${command} ${args.join(' ').slice(0, 200)}: exit code ${code}: ${stderr}`);
  return stdout;
}

function curlArgs({ url, method, headers, body, chunked }: Sent): string[] {
  const all: Record<string, string> = { ...headers };
  if (body !== null && chunked) all['transfer-encoding'] = 'chunked';
  const lines = Object.entries(all).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const verb = method === 'HEAD' ? ['--head'] : ['-X', method];
  const data = body === null ? [] : body === '' && chunked ? ['-T', '-'] : ['--data-binary', '@-'];
  const bound = ['--max-time', String(answerMsMax / 1_000)];
  const output = method === 'HEAD' ? ['-o', '/dev/null'] : [];
  return ['-sS', ...bound, ...verb, ...lines, ...data, ...output, '-w', `${statusMark}%{http_code}`, url];
}

async function sendByCurl(sent: Sent): Promise<Received> {
  const stdout = await run('curl', curlArgs(sent), sent.body ?? '');
  const at = stdout.lastIndexOf(statusMark);
  return { status: Number(stdout.slice(at + statusMark.length)), text: stdout.slice(0, at) };
}

export function createCurl(): Client {
  const isHere = spawnSync('curl', ['--version']).status === 0;
  return {
    name: 'curl',
    missing: isHere ? undefined : 'curl is not installed',
    // With --head curl takes no body.
    can: ({ method, body }) => method !== 'HEAD' || body === null,
    sendAll: async (all) => {
      const received: Received[] = [];
      for (const sent of all) received.push(await sendByCurl(sent));
      return received;
    },
  };
}

/** The Python that has the module, if any. */
function findPython(module: string): string | undefined {
  return pythons.find((python) => spawnSync(python, ['-c', `import ${module}`]).status === 0);
}

export function createPythonClient(library: 'urllib' | 'requests' | 'httpx'): Client {
  const python = findPython(library);
  return {
    name: `Python ${library}`,
    missing: python === undefined ? `no Python with ${library} is installed` : undefined,
    can: () => true,
    sendAll: async (all) => {
      const input = JSON.stringify({ timeout_s: answerMsMax / 1_000, requests: all });
      return JSON.parse(await run(python ?? '', [script, library], input));
    },
  };
}
