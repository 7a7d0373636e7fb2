// `npm run build`: builds what `./parley` takes as long as no source is newer; nothing else knows of it.
import { buildService } from './buildService.ts';

if (!(await buildService('dist')))
  process.stdout.write('Not built, for esbuild is not installed: Parley runs from its sources.\n');
