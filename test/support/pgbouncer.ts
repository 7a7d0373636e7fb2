// A real PgBouncer in front of the PostgreSQL of the tests, where it is installed.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { until } from './until.ts';

/** The reason to skip tests that need it, or false. */
export const withoutPgbouncer =
  spawnSync('pgbouncer', ['--version']).status === 0 ? false : 'needs pgbouncer';

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** Returns the URL of the database through PgBouncer. */
export async function startPgbouncer(
  databaseUrl: string,
  settings: readonly string[],
  t: { after(fn: () => void): void },
): Promise<string> {
  const { hostname, port, username, password } = new URL(databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), 'parley-pgbouncer-'));
  // It refuses to run as root, and then needs to read its settings as another user.
  chmodSync(folder, 0o755);
  const listenPort = await freePort();
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${listenPort}`,
    'unix_socket_dir =',
    'auth_type = any',
    'ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout,options',
    ...settings,
  ];
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn('pgbouncer', ['-q', ...user, file], { stdio: 'ignore' });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await until('PgBouncer listens', () => answers(listenPort));
  const url = new URL(databaseUrl);
  url.port = String(listenPort);
  return url.href;
}
