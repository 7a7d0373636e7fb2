// Starts a program in a sandbox and waits to be killed:
// `node orphaned.ts process|bubblewrap RECORDS WORKSPACE SLEEP`.
import { openCgroups } from '../../src/sandbox/cgroups.ts';
import { openSandbox } from '../../src/sandbox/openSandbox.ts';
import { processEngine } from '../../src/sandbox/processEngine.ts';
import { openProcessRecords } from '../../src/sandbox/processRecords.ts';
import { bubblewrap } from './sandboxes.ts';

const [kind = '', folder = '', workspace = '', sleep = ''] = process.argv.slice(2);
const open = await openSandbox({
  engine: kind === 'bubblewrap' ? bubblewrap() : processEngine,
  spec: {
    name: `orphan-${process.pid}`,
    workspace,
    home: workspace,
    readable: [],
    resourceFactor: 1,
    image: null,
  },
  cgroups: openCgroups(),
  records: openProcessRecords(folder),
});
await open.start({ argv: ['sleep', sleep], env: {} });
setInterval(() => {}, 60_000);
