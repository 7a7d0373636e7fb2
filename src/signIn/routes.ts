// /api/sign-in: signing in with an OpenID Connect provider. These routes need no API key, so they are limited by address.

import { AppError } from '../errors.ts';
import { open } from '../http/access.ts';
import { networkOf } from '../http/authFailures.ts';
import { createRateLimiter } from '../http/rates.ts';
import type { Server } from '../http/routeTable.ts';
import {
  signedInExample,
  signInAnswerExample,
  signInProviderExample,
  startedSignInExample,
} from './examples.ts';
import { SignedIn, SignInAnswer, SignInProvider, StartedSignIn } from './schema.ts';
import type { SignIn } from './service.ts';

const minuteMs = 60_000;
/** How many requests to start or finish a sign-in one address may send, to all processes together. */
export const signInsPerMinuteMax = 60;

const tags = ['Sign-in'];

interface SignInRoutesOptions {
  /** Undefined if no provider is configured. */
  readonly signIn: SignIn | undefined;
  /** How many processes share the limit. */
  readonly sharing: () => number;
}

export function signInRoutes(app: Server, { signIn, sharing }: SignInRoutesOptions): void {
  const attempts = createRateLimiter({
    count: signInsPerMinuteMax,
    perMs: minuteMs,
    limit: 'Too many sign-ins came from this address',
    sharing,
  });

  function admit(address: string): SignIn {
    const over = attempts.take(networkOf(address));
    if (over !== undefined) throw over;
    if (signIn === undefined) throw new AppError('not_found', 'No sign-in provider is configured.');
    return signIn;
  }

  app.get(
    '/api/sign-in',
    {
      config: { access: open, document: { responseExamples: { configured: signInProviderExample } } },
      schema: {
        tags,
        operationId: 'getSignInProvider',
        summary: 'Find out how people can sign in',
        description: 'Returns the OpenID Connect provider. No API key is required.',
        response: { 200: SignInProvider },
      },
    },
    async () => signIn?.describe() ?? { provider: null },
  );

  app.post(
    '/api/sign-in',
    {
      config: {
        access: open,
        document: {
          errors: ['not_found', 'rate_limited', 'overloaded', 'sign_in_provider_failed'],
          responseExamples: { begun: startedSignInExample },
        },
      },
      schema: {
        tags,
        operationId: 'startSignIn',
        summary: 'Start a sign-in',
        description:
          'Open `authorization_url` in the same tab. The provider sends the person back to `/sign-in` of the web UI. Nothing is stored until then.',
        response: { 200: StartedSignIn },
      },
    },
    async ({ ip }) => admit(ip).begin(),
  );

  app.post(
    '/api/sign-in/finish',
    {
      config: {
        access: open,
        document: {
          errors: [
            'not_found',
            'rate_limited',
            'overloaded',
            'database_unavailable',
            'outcome_unknown',
            'sign_in_failed',
            'sign_in_cancelled',
            'sign_in_refused',
            'sign_in_provider_failed',
          ],
          requestExamples: { returned: signInAnswerExample },
          responseExamples: { signedIn: signedInExample },
        },
      },
      schema: {
        tags,
        operationId: 'finishSignIn',
        summary: 'Finish a sign-in',
        description:
          'Exchanges the answer of the provider for a session, once. Only the tab that began has the secret.',
        body: SignInAnswer,
        response: { 200: SignedIn },
      },
    },
    async ({ ip, body, headers }) => admit(ip).finish(body, headers['user-agent']),
  );
}
