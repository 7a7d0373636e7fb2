// Everything that only existing clients need. PARLEY_V0=0 switches it off.
import type { Feedback } from '../conversations/feedback/service.ts';
import type { Lifecycle } from '../conversations/lifecycle/service.ts';
import type { Events } from '../events/service.ts';
import type { AuthFailures } from '../http/authFailures.ts';
import type { RateLimiter } from '../http/rates.ts';
import type { Server } from '../http/routeTable.ts';
import type { Keys } from '../keys/service.ts';
import type { Repositories } from '../repositories/service.ts';
import { v0ConversationRoutes } from './conversationRoutes.ts';
import { socketRoutes } from './socketRoutes.ts';
import type { Sockets } from './sockets.ts';
import { v0UserRoutes } from './userRoutes.ts';

interface V0Services {
  readonly repositories: Repositories;
  readonly events: Events;
  readonly feedback: Feedback;
  readonly lifecycle: Lifecycle;
  readonly keys: Keys;
  readonly rates: { readonly requests: RateLimiter };
  readonly onBackgroundError: (error: Error) => void;
}

export function v0Routes(app: Server, services: V0Services, failures: AuthFailures): void {
  v0UserRoutes(app, services);
  v0ConversationRoutes(app, services);
  let sockets: Promise<Sockets> | undefined;
  const { events, lifecycle, keys, rates, onBackgroundError } = services;
  const loadSockets = () => {
    sockets ??= import('./sockets.ts').then(({ createSockets }) =>
      createSockets({ events, lifecycle, keys, rates: rates.requests, failures, onBackgroundError }),
    );
    return sockets;
  };
  socketRoutes(app, loadSockets);
  app.addHook('preClose', async () => (await sockets)?.close());
}
