// Examples for the API reference. They pass the schemas; a test holds them to it.
import { type CreatedKey, type Me, type NewKey, sessionScopes } from './schema.ts';

export const newKeyExample: NewKey = { name: 'laptop', expires_at: '2030-01-31T12:00:00Z' };

export const createdKeyExample: CreatedKey = {
  id: '3f9c1b7e5d2a4c60',
  name: 'laptop',
  kind: 'session',
  user: 'owner',
  scopes: [...sessionScopes],
  bearer: false,
  created_at: '2026-01-31T12:00:00.000Z',
  expires_at: '2030-01-31T12:00:00.000Z',
  last_used_at: null,
  revoked_at: null,
  key: 'pk_3f9c1b7e5d2a4c60_…',
};

export const meExample: Me = {
  user: createdKeyExample.user,
  key_id: createdKeyExample.id,
  key_name: createdKeyExample.name,
  scopes: createdKeyExample.scopes,
  expires_at: createdKeyExample.expires_at,
};
