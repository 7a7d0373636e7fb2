// `npm run build`: builds what `./parley` takes as long as no source is newer, and the page that it serves; nothing else
// knows of it.
import { resolve } from 'node:path';
import { buildService } from './buildService.ts';
import { buildPage } from './web/build.ts';

const out = 'dist';

if (!(await buildService(out)))
  process.stdout.write('Not built, for esbuild is not installed: Parley runs from its sources.\n');
if (!(await buildPage(resolve(out, 'web'))))
  process.stdout.write('The web UI is not built, because Vite is not installed. The API works without it.\n');
