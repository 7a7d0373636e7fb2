// A bot: GitHub tells it of new issues, and it starts a conversation for each. Set PARLEY_KEY and BOT_SECRET, run
// `node examples/bot.ts`, and add its address to the webhooks of a repository: JSON, the same secret, issues alone.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { createParley } from 'parley/client';

const { PARLEY_URL = 'http://127.0.0.1:3000', PARLEY_KEY, BOT_SECRET, PORT = '3001' } = process.env;
if (PARLEY_KEY === undefined || BOT_SECRET === undefined) throw new Error('set PARLEY_KEY and BOT_SECRET');
const parley = createParley({ url: PARLEY_URL, key: PARLEY_KEY });
const bodyBytesMax = 1_000_000;

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request) {
    bytes += piece.length;
    if (bytes > bodyBytesMax) throw new Error('the body is too large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function isSigned(body: Buffer, signature = ''): boolean {
  const expected = Buffer.from(
    `sha256=${createHmac('sha256', String(BOT_SECRET)).update(body).digest('hex')}`,
  );
  const sent = Buffer.from(signature);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

/** The status of the answer, and what it says. */
async function handle(request: IncomingMessage): Promise<[number, object]> {
  const body = await readBody(request);
  if (!isSigned(body, String(request.headers['x-hub-signature-256'])))
    return [401, { error: 'wrong signature' }];
  const { action, issue, repository } = JSON.parse(body.toString());
  if (action !== 'opened' || issue === undefined) return [200, { ignored: true }];
  const made = await parley.conversations.create(
    {
      initial_user_msg: `Solve issue #${issue.number}, "${issue.title}", and open a pull request.\n\n${issue.body ?? ''}`,
      repository: repository.full_name,
      git_provider: 'github',
    },
    // GitHub sends a message again where it got no answer: it is still one conversation.
    { idempotencyKey: String(request.headers['x-github-delivery']) },
  );
  return [202, { conversation_id: made.conversation_id }];
}

const server = createServer((request, response) => {
  handle(request)
    .catch((error: Error): [number, object] => [500, { error: error.message }])
    .then(([status, answer]) => response.writeHead(status).end(`${JSON.stringify(answer)}\n`));
});
server.listen(Number(PORT), '127.0.0.1', () => console.log('The bot listens on', server.address()));
