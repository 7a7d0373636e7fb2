// What answers the model requests of agents as long as there is no gateway: that there is none.
import type { BridgeHandler } from './bridge/bridge.ts';

const sentence = 'This version of Parley has no way from agents to models yet.';

export function noModelGateway(): BridgeHandler {
  return (_, response) => {
    response.writeHead(501, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { type: 'not_implemented', message: sentence } }));
  };
}
