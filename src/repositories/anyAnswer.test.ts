// Whatever a Git provider puts in place of a value that it documents: the service answers, and never with an internal
// error.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { startWithProviders } from '../../test/support/gitProviderService.ts';
import { gitProviders } from '../git/providers.ts';

const numRuns = 15;

/** All places in a value, as paths. */
function placesIn(value: unknown): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[]];
  const inner = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [[], ...inner.flatMap((key) => placesIn((value as never)[key]).map((rest) => [key, ...rest]))];
}

function replaceAt(value: unknown, place: readonly (string | number)[], by: unknown): unknown {
  const [key, ...rest] = place;
  if (key === undefined) return by;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as Record<string | number, unknown>)[key] = replaceAt((value as never)[key], rest, by);
  return copy;
}

for (const provider of gitProviders)
  describe(`any answer of ${provider}`, () => {
    it('is a result, or an error that names the provider', async (t) => {
      const { service, fake } = await startWithProviders(t, [provider]);
      const repository = provider === 'gitlab' ? 'acme/web/site' : 'acme/shop';
      const paths = [
        `/api/git-providers/${provider}/user`,
        `/api/git-providers/${provider}/installations`,
        '/api/repositories',
        '/api/repositories/search?q=shop',
        `/api/repositories/branches?repository=${repository}`,
        `/api/repositories/branches?repository=${repository}&q=fix`,
        `/api/repositories/microagents?repository=${repository}`,
        '/api/repositories/suggested-tasks',
        '/api/user/repositories',
      ];
      await fc.assert(
        fc.asyncProperty(fc.nat(), fc.jsonValue({ maxDepth: 2 }), async (where, value) => {
          fake.changeAll((json) => {
            const places = placesIn(json);
            return replaceAt(json, places[where % places.length] ?? [], value);
          });
          for (const path of paths) {
            const { status, text } = await service.ask(path);
            assert.ok([200, 404, 502].includes(status), `${path} ${status} ${text}`);
          }
        }),
        { numRuns },
      );
      assert.doesNotMatch(service.logs(), /request failed/);
    });
  });
