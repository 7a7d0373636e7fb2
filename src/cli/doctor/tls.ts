// Checks the connection to a service for encryption, and the certificate for its remaining lifetime.
import { connect } from 'node:tls';
import { isLoopbackName } from '../../config.ts';
import { portOf } from '../../outgoing/resolve.ts';
import { type Finding, note, ok, proxyDocs, wrong } from './finding.ts';

const connectMsMax = 5_000;
const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
/** Less than this is too little for somebody who renews by hand. */
const renewalMs = 14 * dayMs;
/** Programs renew when a third of the lifetime is left, so that with half of that the renewal has failed. */
const renewalShare = 1 / 6;

export interface Certificate {
  readonly validFrom: number;
  readonly validTo: number;
}

/** Throws if there is no connection, or the certificate is not valid for this name. */
function readCertificate(url: URL): Promise<Certificate & { readonly protocol: string }> {
  return new Promise((resolve, reject) => {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host, port: portOf(url), servername: host, timeout: connectMsMax });
    socket.once('timeout', () => socket.destroy(new Error('timeout')));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const { valid_from: from, valid_to: to } = socket.getPeerCertificate();
      const protocol = socket.getProtocol() ?? 'TLS';
      resolve({ validFrom: Date.parse(from), validTo: Date.parse(to), protocol });
      socket.destroy();
    });
  });
}

/** A certificate that was issued for hours is renewed every few hours, and one for a year long before its end. */
export function isRenewalDue({ validFrom, validTo }: Certificate, now: number): boolean {
  return validTo - now < Math.min(renewalMs, (validTo - validFrom) * renewalShare);
}

function describeTime(ms: number): string {
  return ms < 2 * dayMs ? `${Math.floor(ms / hourMs)} more hours` : `${Math.floor(ms / dayMs)} more days`;
}

export async function checkTls(address: string): Promise<Finding> {
  const url = new URL(address);
  if (url.protocol === 'http:')
    return isLoopbackName(url.hostname)
      ? ok('tls', 'The service is on this machine, so it needs no TLS.')
      : wrong(
          'tls',
          `API keys and files travel to ${url.host} without encryption.`,
          `Put a proxy with TLS in front of the service. ${proxyDocs}`,
        );
  try {
    const { protocol, ...certificate } = await readCertificate(url);
    const now = Date.now();
    const message = `The certificate of ${url.hostname} is valid for ${describeTime(certificate.validTo - now)} (${protocol}).`;
    return isRenewalDue(certificate, now)
      ? note('tls', message, 'Renew it soon. If a program renews it, look into its log.')
      : ok('tls', message);
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return wrong(
      'tls',
      `No TLS connection to ${url.host} is possible: ${message || code}.`,
      'Check the certificate of the proxy. For one that your own authority signed, set NODE_EXTRA_CA_CERTS to the file with the certificate of that authority.',
    );
  }
}
