// A fake Docker client: runs what `docker run` asks for in bubblewrap, with its mounts and environment and without
// network. As with Docker, containers outlive the client. `node fakeDocker.ts FOLDER run|rm|version …`; the folder
// contains the state of containers and each argv.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '', verb = '', ...args] = process.argv.slice(2);
appendFileSync(join(folder, 'calls'), `${JSON.stringify([verb, ...args])}\n`);

const withoutValue = new Set(['--interactive', '--rm', '--init', '--read-only']);

function parse(all: readonly string[]) {
  const options: [name: string, value: string][] = [];
  let at = 0;
  while (all[at]?.startsWith('--')) {
    const name = all[at] ?? '';
    const value = withoutValue.has(name) ? '' : (all[++at] ?? '');
    options.push([name, value]);
    at++;
  }
  const of = (name: string) => options.filter(([one]) => one === name).map(([, value]) => value);
  return { of, image: all[at], command: all.slice(at + 1) };
}

function mount(line: string): string[] {
  const fields = new Map(line.split(',').map((field) => field.split('=') as [string, string]));
  const way = fields.has('readonly') ? '--ro-bind' : '--bind';
  return [way, fields.get('source') ?? '', fields.get('target') ?? ''];
}

function run(): void {
  const { of, command } = parse(args);
  const [name = ''] = of('--name');
  const system = ['/bin', '/lib', '/lib64', '/usr', '/etc/alternatives'];
  const env = Object.fromEntries(of('--env').map((variable) => [variable, process.env[variable] ?? '']));
  const child = spawn(
    'bwrap',
    [
      '--unshare-all',
      ...system.flatMap((path) => ['--ro-bind-try', path, path]),
      ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
      ...of('--mount').flatMap(mount),
      ...['--chdir', of('--workdir')[0] ?? '/', '--', ...of('--entrypoint'), ...command],
    ],
    { env: { PATH: '/usr/bin:/bin', ...env }, stdio: 'inherit', detached: true },
  );
  writeFileSync(join(folder, name), String(child.pid));
  child.once('exit', (code) => {
    // A container ends with its program.
    end(name);
    process.exit(code ?? 137);
  });
}

function end(name: string): boolean {
  const path = join(folder, name);
  if (!existsSync(path)) return false;
  try {
    process.kill(-Number(readFileSync(path, 'utf8')), 'SIGKILL');
  } catch {
    // Gone already.
  }
  rmSync(path);
  return true;
}

if (verb === 'run') run();
else if (verb === 'rm') process.exit(end(args.at(-1) ?? '') ? 0 : 1);
else if (verb === 'version') process.stdout.write('99.0\n');
else process.exit(2);
