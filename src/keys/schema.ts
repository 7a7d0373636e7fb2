// The public form of credentials: the scopes of each kind, and the record, which never contains the secret.
import Type from 'typebox';
import { UserName } from '../users/schema.ts';
import { checked, nullableText, oneOf, orNull, text, time } from '../validation/schema.ts';

export const scopes = [
  'settings:read',
  'settings:write',
  'conversations:read',
  'conversations:write',
  'webhooks:manage',
  'keys:manage',
  'admin',
] as const;
export type Scope = (typeof scopes)[number];

export const keyKinds = ['session', 'bearer'] as const;
export type KeyKind = (typeof keyKinds)[number];

export const sessionScopes: readonly Scope[] = scopes.slice(0, 5);
export const bearerScopes: readonly Scope[] = ['settings:read'];

export const KeyName = checked(
  text({ bytesMax: 128, lengthMin: 1, description: 'A name of your choice.' }),
  (value) => (/\p{Cc}/u.test(value) ? 'must not contain control characters' : undefined),
);

export const NewKey = Type.Object(
  {
    name: KeyName,
    kind: Type.Optional(oneOf(keyKinds, { default: 'session' })),
    scopes: Type.Optional(
      Type.Array(oneOf(scopes), {
        maxItems: scopes.length,
        uniqueItems: true,
        description: 'At most the scopes of your own key. Default: all except keys:manage and admin.',
      }),
    ),
    expires_at: Type.Optional(
      nullableText({
        bytesMax: 64,
        description:
          'When the key expires, such as 2030-01-31T12:00:00Z. Null means never, or when your own key expires.',
      }),
    ),
    user: Type.Optional({
      ...UserName,
      description: 'The user of the key, who is created if necessary. Default: your own user.',
    }),
    bearer: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Also accept the API key as `Authorization: Bearer` on every route. Settings that are read this way stay reduced.',
      }),
    ),
  },
  { $id: 'NewKey', additionalProperties: false },
);
export type NewKey = Type.Static<typeof NewKey>;

const keyRecordFields = {
  id: Type.String(),
  name: Type.String(),
  kind: oneOf(keyKinds),
  user: Type.String(),
  scopes: Type.Array(oneOf(scopes)),
  bearer: Type.Boolean({ description: 'Whether it is accepted as `Authorization: Bearer` on every route.' }),
  created_at: time(),
  expires_at: orNull(time()),
  last_used_at: orNull(time()),
  revoked_at: orNull(time()),
};

export const KeyRecord = Type.Object(keyRecordFields, { $id: 'Key', additionalProperties: false });
export type KeyRecord = Type.Static<typeof KeyRecord>;

export const CreatedKey = Type.Object(
  { ...keyRecordFields, key: Type.String({ description: 'The credential. It is shown only once.' }) },
  { $id: 'CreatedKey', additionalProperties: false },
);
export type CreatedKey = Type.Static<typeof CreatedKey>;

export const Me = Type.Object(
  {
    user: Type.String({ description: 'The user of the key.' }),
    key_id: Type.String(),
    key_name: Type.String({ description: 'The name of the key.' }),
    scopes: Type.Array(oneOf(scopes)),
    expires_at: orNull(time()),
  },
  { $id: 'Me', additionalProperties: false },
);
export type Me = Type.Static<typeof Me>;

export const KeyList = Type.Object(
  { keys: Type.Array(KeyRecord) },
  { $id: 'KeyList', additionalProperties: false },
);
