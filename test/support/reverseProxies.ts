// Real reverse proxies for tests, with the examples in deploy/.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export interface ReverseProxy {
  readonly name: string;
  /** The reason to skip tests with it, or false. */
  readonly missing: string | false;
  /** The file name of its examples. */
  readonly file: string;
  /** Writes its configuration, and returns the command that runs it in the foreground. */
  prepare(folder: string, example: string): readonly string[];
}

function missing(name: string, ...probe: readonly [string, ...string[]]): string | false {
  const [command, ...args] = probe;
  return spawnSync(command, args).status === 0 ? false : `${name} is not installed`;
}

export const nginx: ReverseProxy = {
  name: 'nginx',
  missing: missing('nginx', 'nginx', '-v'),
  file: 'nginx.conf',
  prepare: (folder, example) => {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(folder, name)};`)
      .join('\n');
    const config = `daemon off;\nuser root;\npid ${join(folder, 'pid')};\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${example}}\n`;
    writeFileSync(join(folder, 'nginx.conf'), config);
    return ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf')];
  },
};

export const caddy: ReverseProxy = {
  name: 'Caddy',
  missing: missing('Caddy', 'caddy', 'version'),
  file: 'Caddyfile',
  prepare: (folder, example) => {
    // It must neither listen on ports that the example does not name nor change the certificates of the machine.
    const options = '{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n';
    writeFileSync(join(folder, 'Caddyfile'), options + example);
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
  },
};

/** An example of deploy/ with other values, each of which must occur in it. */
export function readExample(path: string, replacements: Readonly<Record<string, string>>): string {
  const text = readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8');
  return Object.entries(replacements).reduce((now, [from, to]) => {
    assert.ok(now.includes(from), from);
    return now.replaceAll(from, to);
  }, text);
}

/** A folder that the proxy can read, whatever user it runs as. */
export function createProxyFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-proxy-'));
  chmodSync(folder, 0o755);
  t.after(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts a proxy, which ends with the test. It may not listen yet. */
export function startReverseProxy(
  t: TestContext,
  proxy: ReverseProxy,
  { folder, example, env = {} }: { folder: string; example: string; env?: Record<string, string> },
): void {
  const [command = '', ...args] = proxy.prepare(folder, example);
  const homes = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(command, args, {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], ...homes, ...env },
  });
  t.after(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
  });
}
