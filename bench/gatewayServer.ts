// The gateway and bridge of a run in a child process, which serve an inherited listener, as in a sandbox:
// `gatewayServer.ts MODEL_ORIGIN TOKEN_FILE`.
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { createBridge } from '../src/bridge/bridge.ts';
import { createGateway } from '../src/gateway/handler.ts';
import { createMeter } from '../src/gateway/usage/meter.ts';
import { loadModels } from '../src/models/catalogue.ts';

const [origin = '', tokenFile = ''] = process.argv.slice(2);

const gateway = createGateway({
  model: 'openai/gpt-4o',
  baseUrl: null,
  modelHosts: { openai: origin },
  models: loadModels(),
  key: 'sk-of-the-benchmark',
  meter: createMeter({
    limits: { requestsMax: null, costNanosMax: null },
    spentNanos: 0,
    onLimit: () => {},
  }),
  allowPrivate: () => false,
  // One gateway represents those of several runs.
  bounds: { requestsMax: 256 },
  onNotice: (sentence) => process.stderr.write(`${sentence}\n`),
});
const bridge = createBridge({ handlers: { model: gateway.handle } });
const listener = createServer();
bridge.take(listener);
await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
const { port } = listener.address() as AddressInfo;
writeFileSync(tokenFile, bridge.token, { mode: 0o600 });
process.stdout.write(`http://127.0.0.1:${port}\n`);
