// Calls a service through the client of @hey-api/openapi-ts. It runs as it is, because Node strips the types.
import { createClient } from './generated/heyApi/client/index.ts';
import { createConversation, getConversation, getSettings } from './generated/heyApi/sdk.gen.ts';

declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const baseUrl = process.env['PARLEY_URL'] ?? '';
const client = createClient({
  baseUrl,
  auth: ({ type }) => (type === 'apiKey' ? process.env['PARLEY_KEY'] : undefined),
});

const created = await createConversation({ client, body: { initial_user_msg: 'Hello' }, throwOnError: true });
const id: string = created.data.conversation_id;
const { data: found } = await getConversation({ client, path: { id }, throwOnError: true });
check(found?.conversation_id === id, 'the conversation that was created is found');

const { data: settings } = await getSettings({ client, throwOnError: true });
check('secrets_store' in settings, 'an API key reads the full settings');

const { error, response } = await createConversation({ client, body: { conversation_id: 'no id' } });
check(response?.status === 422 && error?.code === 'invalid', 'an error has its code');
