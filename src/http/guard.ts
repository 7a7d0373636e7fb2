// Which hosts and origins may access the service. On loopback it keeps other web sites out, including those that reach
// 127.0.0.1 by their own name (DNS rebinding).
import type { Config } from '../config.ts';
import { isLoopbackName } from '../config.ts';
import { AppError } from '../errors.ts';

const rememberedHostsMax = 256;

export interface Guard {
  /** Whether the host was allowed before, or any is. */
  knows(host: string | undefined): boolean;
  /** Throws if the host or the origin is not allowed. */
  check(host: string | undefined, origin: string | undefined): void;
  /** The origin for CORS headers, if another origin than our own is allowed. */
  corsOrigin(host: string | undefined, origin: string | undefined): string | undefined;
}

type GuardConfig = Pick<Config, 'onLoopback' | 'allowedHosts' | 'corsOrigins' | 'publicUrl'>;

/** Servers that listen on all interfaces print this address, and people copy it. It only reaches this machine. */
const everywhere = '0.0.0.0';

function hostName(host: string): string {
  return host.replace(/:\d+$/, '').toLowerCase();
}

function namesThisMachine(name: string): boolean {
  return isLoopbackName(name) || name === everywhere;
}

export function createGuard({ onLoopback, allowedHosts, corsOrigins, publicUrl }: GuardConfig): Guard {
  const publicHost = publicUrl === undefined ? undefined : new URL(publicUrl).host;
  const allowed = new Set([...allowedHosts, ...(publicHost === undefined ? [] : [publicHost])]);
  const origins = new Set([...corsOrigins, ...(publicUrl === undefined ? [] : [publicUrl])]);
  const anyHost = !onLoopback && allowedHosts.length === 0;
  const good = new Set<string>();

  function hostAllowed(host: string): boolean {
    if (anyHost || good.has(host)) return true;
    const name = hostName(host);
    const fits =
      (onLoopback && namesThisMachine(name)) || allowed.has(host.toLowerCase()) || allowed.has(name);
    if (fits && good.size < rememberedHostsMax) good.add(host);
    return fits;
  }

  function ownOrigin(host: string, origin: string): boolean {
    return origin === `http://${host}` || origin === `https://${host}`;
  }

  return {
    knows: (host) => host !== undefined && (anyHost || good.has(host)),
    // HTTP/1.0 requests have no Host header; they pass only if any host is allowed.
    check: (host = '', origin) => {
      if (!hostAllowed(host))
        throw new AppError(
          'host_not_allowed',
          'This host name is not allowed; the operator can add it to PARLEY_ALLOWED_HOSTS.',
        );
      if (origin !== undefined && !ownOrigin(host, origin) && !origins.has(origin))
        throw new AppError(
          'origin_not_allowed',
          'This origin is not allowed; the operator can add it to PARLEY_CORS_ORIGINS.',
        );
    },
    corsOrigin: (host, origin) =>
      origin !== undefined && host !== undefined && !ownOrigin(host, origin) && origins.has(origin)
        ? origin
        : undefined,
  };
}
