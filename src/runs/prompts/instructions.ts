// Writes files that agents read in their home, such as standing instructions. They are written inside the sandbox,
// because the agent may have replaced a folder by a link.
import { preamble } from '../../agents/acp/prompt.ts';
import type { HomeFile } from '../../agents/launch.ts';
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';
import { runToEnd } from '../../sandbox/runToEnd.ts';
import type { RunInputs } from '../inputs.ts';
import { RunEnd } from '../runEnd.ts';

const bounds = { timeoutMs: 10_000, outputBytesMax: 4_096 };
/** Replaces anything that is not a folder on the path, such as a link, and the previous file. */
const script = `
place=$1 rest=$2
while [ "$rest" != "\${rest#*/}" ]; do
  place=$place/\${rest%%/*} rest=\${rest#*/}
  [ -d "$place" ] && [ ! -h "$place" ] || { rm -rf -- "$place" && mkdir -- "$place"; } || exit 1
done
umask 077
rm -rf -- "$place/$rest" && { [ -z "$3" ] || { cat >"$place/$rest" && chmod "$3" "$place/$rest"; }; }`;

/** The text that a session begins with; empty if there is none. */
export function instructionsOf({ instructions, settings }: RunInputs): string {
  return preamble({ instructions: instructions ?? null, language: settings.language })
    .map((block) => (block.type === 'text' ? block.text : ''))
    .join('\n\n');
}

/** Only the agent can read the file. An empty text removes it, because only we write it. */
export async function writeHomeFile(
  sandbox: OpenSandbox,
  { path, text, isProgram = false }: HomeFile,
): Promise<void> {
  const { home } = sandbox.paths;
  const mode = isProgram ? '700' : '600';
  const { code, bound } = await runToEnd(
    sandbox,
    {
      argv: ['sh', '-c', script, 'sh', home, path, text === '' ? '' : mode],
      env: {},
      cwd: home,
      offline: true,
    },
    { ...bounds, input: `${text}\n` },
  );
  if (code !== 0 || bound !== undefined)
    throw new RunEnd('workspace_error', `The file ${path} could not be written to the home of the agent.`);
}
