// Examples for the API docs.
import type {
  IdentityRecord,
  SessionRecord,
  SignedIn,
  SignInAnswer,
  SignInProvider,
  StartedSignIn,
} from './schema.ts';

export const signInProviderExample: SignInProvider = {
  provider: { name: 'Example', url: 'https://parley.example.com' },
};

export const startedSignInExample: StartedSignIn = {
  authorization_url: 'https://login.example.com/authorize?client_id=parley&state=…',
  secret: 'Yk3…',
};

export const signInAnswerExample: SignInAnswer = { secret: 'Yk3…', query: 'code=…&state=…' };

export const signedInExample: SignedIn = {
  token: 'ps_3f9c1b7e5d2a4c60_…',
  user: 'ada',
  ends_at: '2026-11-08T09:00:00.000Z',
};

export const sessionExample: SessionRecord = {
  id: 's3f9c1b7e5d2a4c60',
  browser: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  is_current: true,
  created_at: '2026-11-01T09:00:00.000Z',
  last_used_at: '2026-11-01T10:00:00.000Z',
  expires_at: '2026-11-01T22:00:00.000Z',
  ends_at: '2026-11-08T09:00:00.000Z',
};

export const identityExample: IdentityRecord = {
  id: '8d1f0c2b9a7e6354',
  issuer: 'https://login.example.com',
  subject: '248289761001',
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  created_at: '2026-11-01T09:00:00.000Z',
  signed_in_at: '2026-11-01T09:00:00.000Z',
};
