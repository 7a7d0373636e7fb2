// The URL of a chat service is a credential: whoever has it can post. It is encrypted together with the signing secret,
// and everything else knows only its host.
import { mask } from '../../mcp/secrets.ts';

export interface WebhookCredentials {
  readonly secret: string;
  /** Undefined if the URL is not encrypted. */
  readonly url?: string | undefined;
}

/** Neither part contains a space. */
export function packCredentials({ secret, url }: WebhookCredentials): string {
  return url === undefined ? secret : `${secret} ${url}`;
}

export function unpackCredentials(packed: string): WebhookCredentials {
  const [secret = '', url] = packed.split(' ');
  return { secret, url };
}

export function maskedUrl(url: string): string {
  return `${new URL(url).origin}/${mask}`;
}
