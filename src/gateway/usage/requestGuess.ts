// What a request may take, before anybody knows: its size, and what it says of the answer that it wants.
import { countOf, isObject, type Json, type Tokens } from '../protocols/protocol.ts';
import { guessTokens } from './usageReader.ts';

/** Of an answer; most are shorter, however long they might be. */
const outputMax = 4_096;

/** How the APIs name the bound of an answer. */
const boundNames = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens'];

export function guessRequest(bytes: number, body: Json): Tokens {
  const places = [body, body['generationConfig'], body['generation_config']].filter(isObject);
  const bounds = places.flatMap((place) => boundNames.map((name) => countOf(place[name])));
  return guessTokens(bytes, Math.min(outputMax, ...bounds.filter((bound) => bound > 0)));
}
