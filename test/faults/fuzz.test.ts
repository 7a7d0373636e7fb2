// The short run of the fuzzer: see test/fuzz. `npm run test:fuzz` is the long one.
import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { fuzzClients } from '../fuzz/clientFuzzing.ts';
import { fuzz } from '../fuzz/fuzzing.ts';

const seed = randomInt(2 ** 31);

it(`mutated messages of agents end no run but their own, seed ${seed}`, async (t) => {
  await fuzz({ seed, messages: 3_000 }, t);
});

it(`mutated messages of ACP clients disturb nobody, seed ${seed}`, async (t) => {
  await fuzzClients({ seed, messages: 3_000 }, t);
});
