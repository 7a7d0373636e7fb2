// /api/sessions: who is signed in, and how to end that.
import Type from 'typebox';
import { needs, needsKey } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { UserParams } from '../users/schema.ts';
import { sessionExample } from './examples.ts';
import { EndedSessions, SessionList } from './schema.ts';
import type { Sessions } from './sessionService.ts';

const SessionParams = Type.Object({ id: Type.String({ maxLength: 64, description: 'Id of the session.' }) });

const tags = ['Sign-in'];

export function sessionRoutes(app: Server, sessions: Sessions): void {
  app.get(
    '/api/sessions',
    {
      config: {
        access: needs('keys:manage'),
        document: { responseExamples: { one: { sessions: [sessionExample] } } },
      },
      schema: {
        tags,
        operationId: 'listSessions',
        summary: 'List your sessions',
        description: 'Sessions that have ended are not included.',
        response: { 200: SessionList },
      },
    },
    async ({ principal }) => ({ sessions: await sessions.list(principal) }),
  );

  app.delete(
    '/api/sessions',
    {
      config: { access: needs('keys:manage') },
      schema: {
        tags,
        operationId: 'endSessions',
        summary: 'Sign out everywhere',
        description:
          'Ends all your sessions, also the current one. API keys stay valid, also those that were created in a session: revoke them with `DELETE /api/keys/{id}`.',
        response: { 200: EndedSessions },
      },
    },
    async ({ principal }) => sessions.endAll(principal),
  );

  app.delete(
    '/api/sessions/:id',
    {
      config: { access: needsKey },
      schema: {
        tags,
        operationId: 'endSession',
        summary: 'End a session',
        description:
          'A session can end itself. Ending another one requires the scope keys:manage, and one of another user the scope admin. It ends at once, and within a second in other processes; its streams end, too.',
        params: SessionParams,
        response: { 200: EndedSessions },
      },
    },
    async ({ principal, params }) => sessions.end(principal, params.id),
  );

  app.delete(
    '/api/users/:name/sessions',
    {
      config: { access: needs('admin') },
      schema: {
        tags,
        operationId: 'endSessionsOfUser',
        summary: 'End all sessions of a user',
        description:
          'The user can sign in again, and API keys stay valid, also those that were created in a session. Disable the user to prevent that.',
        params: UserParams,
        response: { 200: EndedSessions },
      },
    },
    async ({ principal, params }) => sessions.endAllOfUser(principal.keyId, params.name),
  );
}
