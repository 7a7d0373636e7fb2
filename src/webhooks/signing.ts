// Signatures as Standard Webhooks describes them, so that receivers can verify messages with an existing library.
import { createHmac, randomBytes } from 'node:crypto';

const secretPrefix = 'whsec_';
const secretBytes = 32;

export function createWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

interface Message {
  /** The same for every attempt. */
  readonly id: string;
  /** The time of the attempt. */
  readonly timestampS: number;
  readonly body: string;
}

/** The headers that prove the origin of a delivery. */
export function signedHeaders(secret: string, { id, timestampS, body }: Message) {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestampS}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': `v1,${signature}`,
  };
}
