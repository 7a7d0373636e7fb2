// The long run: `npm run test:fuzz`. PARLEY_FUZZ_SEED repeats one, PARLEY_FUZZ_MESSAGES makes it shorter or longer.
import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { fuzzClients } from './clientFuzzing.ts';
import { fuzz } from './fuzzing.ts';

const seed = Number(process.env['PARLEY_FUZZ_SEED'] ?? randomInt(2 ** 31));
const messages = Number(process.env['PARLEY_FUZZ_MESSAGES'] ?? 100_000);

it(`${messages} mutated messages of agents end no run but their own, seed ${seed}`, async (t) => {
  process.stdout.write(`fuzzing with seed ${seed}\n`);
  process.stdout.write(`${JSON.stringify({ seed, ...(await fuzz({ seed, messages }, t)) })}\n`);
});

// Each of them takes longer, because most are answered.
const clientMessages = Math.ceil(messages / 10);

it(`${clientMessages} mutated messages of ACP clients disturb nobody, seed ${seed}`, async (t) => {
  const result = await fuzzClients({ seed, messages: clientMessages }, t);
  process.stdout.write(`${JSON.stringify({ seed, ...result })}\n`);
});
