// Attaches to the standard streams of a container over a WebSocket of the API server.
import { WebSocket } from 'ws';
import { type Api, ClusterError, credentialsOf, readText, refusalOf } from './api.ts';

/** The channels of the protocol that Kubernetes calls v4. */
const streams = { stdin: 0, stdout: 1, stderr: 2, error: 3 } as const;
const protocol = 'v4.channel.k8s.io';
const openMsMax = 15_000;
const mib = 1_024 * 1_024;
const messageBytesMax = 64 * mib;
/** A pod that leaves more than this unread is given up: honest ones let far less be sent before they have read it. */
export const bufferedBytesMax = 32 * mib;
const shownCharsMax = 300;

export interface Attachment {
  send(bytes: Buffer): void;
  close(): void;
}

interface AttachOptions {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly onOutput: (bytes: Buffer) => void;
  /** Called once, with the reason, which is empty if it is not known. */
  readonly onClose: (why: string) => void;
}

function failureIn(text: string): string | undefined {
  try {
    const { status, message } = JSON.parse(text) as { status?: string; message?: string };
    return status === 'Failure' ? String(message) : undefined;
  } catch {
    return undefined;
  }
}

/** Throws ClusterError. */
export async function attach({ cluster }: Api, options: AttachOptions): Promise<Attachment> {
  const { namespace, pod, container, onOutput, onClose } = options;
  const url = new URL(`/api/v1/namespaces/${namespace}/pods/${pod}/attach`, cluster.server);
  url.search = new URLSearchParams({ container, stdin: 'true', stdout: 'true', stderr: 'true' }).toString();
  url.protocol = url.protocol === 'http:' ? 'ws:' : 'wss:';
  const socket = new WebSocket(url, [protocol], {
    ...credentialsOf(cluster),
    handshakeTimeout: openMsMax,
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
  });
  let said = '';
  socket.on('message', (data: Buffer) => {
    const bytes = data.subarray(1);
    if (data[0] === streams.stdout) onOutput(bytes);
    else if (data[0] === streams.stderr) said = (said + bytes.toString()).slice(-shownCharsMax);
    else if (data[0] === streams.error) said = failureIn(bytes.toString()) ?? said;
  });
  const opened = Promise.withResolvers<void>();
  let isOpen = false;
  socket.once('open', () => {
    isOpen = true;
    opened.resolve();
  });
  socket.once('unexpected-response', (_, response) => {
    readText(response)
      .catch(() => '')
      .then((text) => opened.reject(refusalOf(response.statusCode ?? 0, text)));
  });
  socket.on('error', ({ message }) =>
    opened.reject(new ClusterError(`the connection to the pod failed: ${message}`)),
  );
  socket.once('close', () => {
    opened.reject(new ClusterError('the connection to the pod failed'));
    if (isOpen) onClose(said.trim());
  });
  try {
    await opened.promise;
  } catch (error) {
    socket.terminate();
    throw error;
  }
  const channel = Buffer.of(streams.stdin);
  return {
    send: (bytes) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(Buffer.concat([channel, bytes]));
      if (socket.bufferedAmount <= bufferedBytesMax) return;
      said = 'It does not read what it is sent.';
      socket.terminate();
    },
    close: () => socket.terminate(),
  };
}
