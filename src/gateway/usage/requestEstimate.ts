// Estimates the tokens of a request before it is sent, from its size and the answer length that it asks for.
import { isObject, type JsonObject } from '../../text/foreignText.ts';
import { countOf, type Tokens } from '../protocols/protocol.ts';
import { estimateTokens } from './usageReader.ts';

/** The estimated length of an answer. Most are shorter, even if they may be longer. */
const outputMax = 4_096;

/** How the APIs name the maximum length of an answer. */
const boundNames = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens'];

export function estimateRequest(bytes: number, body: JsonObject): Tokens {
  const places = [body, body['generationConfig'], body['generation_config']].filter(isObject);
  const bounds = places.flatMap((place) => boundNames.map((name) => countOf(place[name])));
  return estimateTokens(bytes, Math.min(outputMax, ...bounds.filter((bound) => bound > 0)));
}
