// POST …/submit-feedback and GET …/remember-prompt, for existing clients.
import type { FastifyRequest } from 'fastify';
import { commentBytesMax, type NewFeedback, shortBytesMax } from '../conversations/feedback/schema.ts';
import type { Feedback } from '../conversations/feedback/service.ts';
import { invalid } from '../errors.ts';
import type { Events } from '../events/service.ts';
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { createRememberPrompt } from './rememberPrompt.ts';

interface ConversationServices {
  readonly feedback: Feedback;
  readonly events: Events;
}

type Request = FastifyRequest<{ Params: { id: string } }>;

function textOf(value: unknown, bytesMax: number): string {
  return typeof value === 'string'
    ? Buffer.from(value).subarray(0, bytesMax).toString().replaceAll('\0', '')
    : '';
}

/** The token and the trajectory of the body are not stored: the log has the trajectory, and a token is a credential. */
function toFeedback(body: Readonly<Record<string, unknown>>): NewFeedback {
  const sent = [body['polarity'], body['feedback']];
  const polarity = (['positive', 'negative'] as const).find((known) => sent.includes(known));
  if (polarity === undefined) throw invalid([{ path: 'polarity', message: 'must be positive or negative' }]);
  const comment = textOf(body['comment'] ?? body['reason'], commentBytesMax);
  return {
    polarity,
    comment,
    email: textOf(body['email'], shortBytesMax),
    version: textOf(body['version'], shortBytesMax),
    permissions: body['permissions'] === 'public' ? 'public' : 'private',
  };
}

export function v0ConversationRoutes(app: Server, { feedback, events }: ConversationServices): void {
  const rememberPrompt = createRememberPrompt(events);

  app.post(
    '/api/conversations/:id/submit-feedback',
    { config: { access: needs('conversations:write') }, schema: { hide: true } },
    async ({ principal, params, body }: Request) => {
      const sent = toFeedback((body ?? {}) as Readonly<Record<string, unknown>>);
      const feedback_id = await feedback.add(principal, params.id, sent);
      const message = 'Feedback stored on this server. It was not sent anywhere.';
      return { statusCode: 200, body: { message, feedback_id, password: '' } };
    },
  );

  app.get(
    '/api/conversations/:id/remember-prompt',
    { config: { access: needs('conversations:read') }, schema: { hide: true } },
    async ({ principal, params, query }: Request) => {
      const eventId = String((query as Readonly<Record<string, unknown>>)['event_id'] ?? '');
      if (!/^\d{1,15}$/.test(eventId))
        throw invalid([{ path: 'event_id', message: 'must be the id of an event' }]);
      return { status: 'success', prompt: await rememberPrompt(principal, params.id, Number(eventId)) };
    },
  );
}
