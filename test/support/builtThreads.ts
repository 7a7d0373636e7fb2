// Lets the threads of the service start from the build: most tests start one, and loading it from the sources takes a
// third of a second.
import { registerHooks } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const ofThreads = /\/src\/(db\/\w+Thread|transactions)\.ts$/;

if (!isMainThread)
  registerHooks({
    resolve: (specifier, context, next) => next(specifier.replace(ofThreads, '/dist-test/$1.js'), context),
  });
