// Sign-in with an OpenID Connect provider, sessions, and linked accounts, as the API shows them.
import Type from 'typebox';
import { kib, orNull, text, time } from '../validation/schema.ts';

const shapes = { additionalProperties: false };

export const SignInProvider = Type.Object(
  {
    provider: orNull(
      Type.Object(
        {
          name: Type.String({ description: 'The name for the button.' }),
          url: Type.String({ description: 'The URL of the web UI where people can sign in.' }),
        },
        shapes,
      ),
      { description: 'Null if people can only sign in with API keys.' },
    ),
  },
  { $id: 'SignInProvider', ...shapes },
);
export type SignInProvider = Type.Static<typeof SignInProvider>;

export const StartedSignIn = Type.Object(
  {
    authorization_url: Type.String({ description: 'Where the person signs in.' }),
    secret: Type.String({ description: 'Keep it in the tab that began, and send it with the answer.' }),
  },
  { $id: 'StartedSignIn', ...shapes },
);
export type StartedSignIn = Type.Static<typeof StartedSignIn>;

export const SignInAnswer = Type.Object(
  {
    secret: text({ bytesMax: 128, lengthMin: 1 }),
    query: text({
      bytesMax: 8 * kib,
      lengthMin: 1,
      description: 'What the provider added to the redirect URI, such as `code=…&state=…`.',
    }),
  },
  { $id: 'SignInAnswer', ...shapes },
);
export type SignInAnswer = Type.Static<typeof SignInAnswer>;

export const SignedIn = Type.Object(
  {
    token: Type.String({
      description: 'The credential of the session, to be sent as X-Session-API-Key. It is shown only once.',
    }),
    user: Type.String(),
    ends_at: time({ description: 'When the session ends at the latest.' }),
  },
  { $id: 'SignedIn', ...shapes },
);
export type SignedIn = Type.Static<typeof SignedIn>;

export const SessionRecord = Type.Object(
  {
    id: Type.String(),
    browser: Type.String({ description: 'What the browser calls itself.' }),
    is_current: Type.Boolean({ description: 'Whether this request was sent with it.' }),
    created_at: time(),
    last_used_at: time({ description: 'To within a few seconds.' }),
    expires_at: time({ description: 'When it ends unless it is used.' }),
    ends_at: time({ description: 'When it ends at the latest.' }),
  },
  { $id: 'Session', ...shapes },
);
export type SessionRecord = Type.Static<typeof SessionRecord>;

export const SessionList = Type.Object(
  { sessions: Type.Array(SessionRecord) },
  { $id: 'SessionList', ...shapes },
);
export type SessionList = Type.Static<typeof SessionList>;

export const EndedSessions = Type.Object(
  { ended: Type.Integer({ minimum: 0, description: 'How many sessions were ended.' }) },
  { $id: 'EndedSessions', ...shapes },
);
export type EndedSessions = Type.Static<typeof EndedSessions>;

export const IdentityRecord = Type.Object(
  {
    id: Type.String(),
    issuer: Type.String(),
    subject: Type.String({ description: 'The id of the account at the provider.' }),
    name: orNull(Type.String({ description: 'The name at the last sign-in.' })),
    email: orNull(Type.String({ description: 'The email address at the last sign-in.' })),
    created_at: time(),
    signed_in_at: orNull(time()),
  },
  { $id: 'Identity', ...shapes },
);
export type IdentityRecord = Type.Static<typeof IdentityRecord>;

export const IdentityList = Type.Object(
  { identities: Type.Array(IdentityRecord) },
  { $id: 'IdentityList', ...shapes },
);
export type IdentityList = Type.Static<typeof IdentityList>;

export const NewIdentity = Type.Object(
  {
    subject: text({ bytesMax: 255, lengthMin: 1, description: 'The claim `sub` of the account.' }),
    issuer: Type.Optional(
      text({ bytesMax: kib, lengthMin: 1, description: 'Default: the issuer that is configured.' }),
    ),
  },
  { $id: 'NewIdentity', ...shapes },
);
export type NewIdentity = Type.Static<typeof NewIdentity>;
