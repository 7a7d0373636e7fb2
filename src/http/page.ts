// Serves the web UI at `/`: built files, which are read on demand so that the start does not wait for them.
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { open } from './access.ts';
import { etagMatches } from './conditional.ts';
import type { Server } from './routeTable.ts';

/** All resources come from this origin, and nothing is inline. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Pages that open this one, or are opened by it, get no reference to it. */
const pageHeaders = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
};

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
/** Sorted by how much they save. */
const encodings = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;
/** Paths that the web UI routes itself. */
const pagePaths = ['/', '/new', '/conversations/:id', '/settings', '/settings/:section', '/sign-in'];
const assetName = /^\w[\w-]*(?:\.[\w-]+)*\.(css|js|svg)$/;
const immutable = 'public, max-age=31536000, immutable';
const notBuilt =
  'The web UI is not built. Run "npm run build" with the development packages installed. The API works without it: see /docs.\n';

async function find(file: URL): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

/** The smallest encoding that the client accepts; undefined if it accepts none. */
function encodingFor(accepted: string | undefined) {
  const taken = new Map(
    (accepted ?? '').split(',').map((part) => {
      const [name = '', weight = ''] = part.split(';');
      return [name.trim().toLowerCase(), !/q=0(\.0*)?\s*$/.test(weight)] as const;
    }),
  );
  return encodings.find(({ name }) => taken.get(name));
}

interface PageFile {
  readonly file: URL;
  readonly type: string | undefined;
  readonly cacheControl: string;
}

/** Returns false if there is no such file. */
async function sendFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { file, type, cacheControl }: PageFile,
): Promise<boolean> {
  const encoding = encodingFor(headers['accept-encoding']);
  const small = encoding && (await find(new URL(`${file.href}${encoding.suffix}`)));
  const bytes = small ?? (await find(file));
  if (bytes === undefined) return false;
  const etag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
  reply.headers({ 'cache-control': cacheControl, etag, vary: 'Accept-Encoding' });
  if (etagMatches(headers['if-none-match'], etag)) {
    reply.code(304).send();
    return true;
  }
  if (small !== undefined) reply.header('content-encoding', encoding?.name);
  reply.type(type ?? 'application/octet-stream').send(bytes);
  return true;
}

/** `folder` is the output of the build, with a trailing slash. */
export function pageRoutes(app: Server, folder: URL): void {
  const config = { access: open };
  const index = { file: new URL('index.html', folder), type: types['html'], cacheControl: 'no-cache' };

  for (const path of pagePaths)
    app.get(path, { config, schema: { hide: true } }, async (request, reply) => {
      reply.headers(pageHeaders);
      if (!(await sendFile(request, reply, index)))
        reply.code(503).type('text/plain; charset=utf-8').send(notBuilt);
      return reply;
    });

  app.get<{ Params: { name: string } }>(
    '/assets/:name',
    { config, schema: { hide: true } },
    async (request, reply) => {
      const { name } = request.params;
      const type = types[assetName.exec(name)?.[1] ?? ''];
      const file = new URL(`assets/${name}`, folder);
      const found =
        type !== undefined && (await sendFile(request, reply, { file, type, cacheControl: immutable }));
      if (!found) throw new AppError('not_found', 'This file does not exist.');
      return reply;
    },
  );
}
