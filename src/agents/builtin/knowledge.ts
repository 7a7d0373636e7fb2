// Instructions of a repository for agents: AGENTS.md, and the microagents in .openhands/microagents, which apply always
// or if the user's message contains one of their triggers.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { microagentsFolder, parseMicroagent } from '../../text/microagents.ts';
import { kib } from '../../validation/schema.ts';
import { readStart, withFile } from './tools/fileText.ts';

const fileBytesMax = 32 * kib;
const filesMax = 50;
/** The limit of all files that always apply. */
const allCharsMax = 64 * kib;
const standing = ['AGENTS.md', '.openhands_instructions'] as const;

interface Microagent {
  readonly name: string;
  readonly text: string;
  /** In lower case. Without triggers, the microagent always applies. */
  readonly triggers: readonly string[];
}

export interface Knowledge {
  /** The instructions that always apply; may be empty. */
  readonly always: string;
  /** Returns the microagents that a message triggers, each once per session. */
  triggeredBy(message: string): string[];
}

/** Returns undefined if the path is not a regular file, because a link may lead anywhere. */
async function readText(file: string): Promise<string | undefined> {
  try {
    return await withFile(file, 'Reading', async (open) => {
      if (!(await open.stat()).isFile()) return undefined;
      const bytes = await readStart(open, fileBytesMax + 1);
      const text = bytes.toString('utf8', 0, fileBytesMax);
      return bytes.length <= fileBytesMax ? text : `${text}\n… the rest of this file is left out.`;
    });
  } catch {
    return undefined;
  }
}

async function readMicroagents(cwd: string): Promise<Microagent[]> {
  const folder = join(cwd, microagentsFolder);
  const names = await readdir(folder).catch(() => []);
  const files = names
    .filter((name) => name.endsWith('.md'))
    .toSorted()
    .slice(0, filesMax);
  const texts = await Promise.all(files.map((name) => readText(join(folder, name))));
  return files.flatMap((name, i) => {
    const text = texts[i];
    if (text === undefined) return [];
    const { content, triggers } = parseMicroagent(text);
    return [{ name, text: content, triggers: triggers.map((word) => word.toLowerCase()) }];
  });
}

function section(name: string, text: string): string {
  return `<file name=${JSON.stringify(name)}>\n${text}\n</file>`;
}

/** Never rejects. Files that cannot be read are ignored. */
export async function readKnowledge(cwd: string): Promise<Knowledge> {
  const texts = await Promise.all(standing.map((name) => readText(join(cwd, name))));
  const microagents = await readMicroagents(cwd);
  const isAlways = ({ triggers }: Microagent) => triggers.length === 0;
  const sent = new Set<Microagent>();
  const always = [
    ...standing.flatMap((name, i) => (texts[i] ? [section(name, texts[i])] : [])),
    ...microagents.filter(isAlways).map(({ name, text }) => section(`${microagentsFolder}/${name}`, text)),
  ].join('\n\n');
  return {
    always:
      always.length <= allCharsMax ? always : `${always.slice(0, allCharsMax)}\n… the rest is left out.`,
    triggeredBy: (message) => {
      const words = message.toLowerCase();
      const called = microagents.filter(
        (one) => !sent.has(one) && one.triggers.some((trigger) => words.includes(trigger)),
      );
      for (const one of called) sent.add(one);
      return called.map(({ name, text }) => section(`${microagentsFolder}/${name}`, text));
    },
  };
}
