// Starts a program in a cell and waits to be killed:
// `node orphaned.ts process|bubblewrap RECORDS WORKSPACE SLEEP`.
import { openControlGroups } from '../../src/sandbox/controlGroups.ts';
import { openCell } from '../../src/sandbox/openCell.ts';
import { openLaunchRecords } from '../../src/sandbox/orphans.ts';
import { processSandbox } from '../../src/sandbox/process.ts';
import { bubblewrap } from './cells.ts';

const [kind = '', folder = '', workspace = '', sleep = ''] = process.argv.slice(2);
const open = await openCell({
  sandbox: kind === 'bubblewrap' ? bubblewrap() : processSandbox,
  cell: {
    name: `orphan-${process.pid}`,
    workspace,
    home: workspace,
    readable: [],
    resourceFactor: 1,
    image: null,
  },
  controlGroups: openControlGroups(),
  records: openLaunchRecords(folder),
});
await open.enter({ argv: ['sleep', sleep], env: {} });
setInterval(() => {}, 60_000);
