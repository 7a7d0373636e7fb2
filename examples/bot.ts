// A bot: GitHub tells it of new issues, and it starts a conversation for each. Set PARLEY_KEY and BOT_SECRET, run
// `npm exec -- node examples/bot.ts` (with the Node of this package, for an older one cannot), and add its URL to the
// webhooks of a repository: JSON, the same secret, issues alone. It listens on this machine alone: GitHub needs a proxy
// with https, or a tunnel, before it.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
// In a project of its own: import { createParley } from 'parley/client';
import { createParley } from '../src/client/parley.ts';

const { PARLEY_URL = 'http://127.0.0.1:3000', PARLEY_KEY, BOT_SECRET, PORT = '3001' } = process.env;
if (PARLEY_KEY === undefined || BOT_SECRET === undefined) throw new Error('set PARLEY_KEY and BOT_SECRET');
/** GitHub waits ten seconds for an answer. */
const times = { timeoutMs: 8_000, createForMs: 8_000 };
const parley = createParley({ url: PARLEY_URL, key: PARLEY_KEY, times });
const bodyBytesMax = 1_000_000;
/** Whoever may open an issue could otherwise tell the agent what to do. */
const trusted = ['OWNER', 'MEMBER', 'COLLABORATOR'];

async function readBody(request: IncomingMessage): Promise<Buffer> {
  let body = Buffer.alloc(0);
  for await (const piece of request) {
    body = Buffer.concat([body, piece]);
    if (body.length > bodyBytesMax) throw new Error('the body is too large');
  }
  return body;
}

function isSigned(body: Buffer, signature: unknown): boolean {
  const digest = createHmac('sha256', String(BOT_SECRET)).update(body).digest('hex');
  const [expected, sent] = [Buffer.from(`sha256=${digest}`), Buffer.from(String(signature))];
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

/** The status of the answer, and what it says. */
async function handle(request: IncomingMessage): Promise<[number, object]> {
  const body = await readBody(request);
  const { 'x-hub-signature-256': signature, 'x-github-delivery': delivery } = request.headers;
  if (!isSigned(body, signature)) return [401, { error: 'wrong signature' }];
  if (delivery === undefined) return [400, { error: 'no X-GitHub-Delivery' }];
  const { action, issue, repository } = JSON.parse(body.toString());
  if (action !== 'opened' || !trusted.includes(issue?.author_association)) return [200, { ignored: true }];
  const made = await parley.conversations.create(
    {
      initial_user_msg: `Solve issue #${issue.number}, "${issue.title}", and open a pull request.\n\n${issue.body ?? ''}`,
      repository: repository.full_name,
      git_provider: 'github',
    },
    // Whoever has GitHub deliver it again, by hand or by a script, gets the same conversation.
    { idempotencyKey: String(delivery) },
  );
  return [202, { conversation_id: made.conversation_id }];
}

const server = createServer((request, response) => {
  handle(request)
    .catch((error: Error): [number, object] => [500, { error: error.message }])
    .then(([status, answer]) => response.writeHead(status).end(`${JSON.stringify(answer)}\n`));
});
server.listen(Number(PORT), '127.0.0.1', () => console.log('The bot listens on', server.address()));
