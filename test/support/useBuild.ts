// Lets a service inside a test start its threads and programs from the build: from the sources, each takes between a
// fifth of a second and a whole one longer.
import { registerHooks } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const sources = new URL('../../src/process/program.ts', import.meta.url).href;
const build = new URL('./builtProgram.ts', import.meta.url).href;

// Threads are part of the build and need no hook.
if (isMainThread)
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const isReplaced = resolved.url === sources && context.parentURL !== build;
      return isReplaced ? { ...resolved, url: build } : resolved;
    },
  });
