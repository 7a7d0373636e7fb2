// What a repository tells agents: AGENTS.md, and the microagents of .openhands/microagents, which are there always or
// where the user's message holds one of their words.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { microagentsFolder, parseMicroagent } from '../../text/microagents.ts';
import { kib } from '../../validation/schema.ts';
import { readStart, withFile } from './tools/fileText.ts';

const fileBytesMax = 32 * kib;
const filesMax = 50;
/** Of all files that always hold, together. */
const allCharsMax = 64 * kib;
const standing = ['AGENTS.md', '.openhands_instructions'] as const;

interface Microagent {
  readonly name: string;
  readonly text: string;
  /** In lower case; none: it is always meant. */
  readonly triggers: readonly string[];
}

export interface Knowledge {
  /** What holds for every message; empty where there is nothing. */
  readonly always: string;
  /** What the words of a message call for, each once. */
  calledFor(message: string): string[];
}

/** What is no file is passed over: a link may lead to anything. */
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

/** Never rejects: what cannot be read is not there. */
export async function readKnowledge(cwd: string): Promise<Knowledge> {
  const texts = await Promise.all(standing.map((name) => readText(join(cwd, name))));
  const microagents = await readMicroagents(cwd);
  const isAlways = ({ triggers }: Microagent) => triggers.length === 0;
  const told = new Set<Microagent>();
  const always = [
    ...standing.flatMap((name, i) => (texts[i] ? [section(name, texts[i])] : [])),
    ...microagents.filter(isAlways).map(({ name, text }) => section(`${microagentsFolder}/${name}`, text)),
  ].join('\n\n');
  return {
    always:
      always.length <= allCharsMax ? always : `${always.slice(0, allCharsMax)}\n… the rest is left out.`,
    calledFor: (message) => {
      const words = message.toLowerCase();
      const called = microagents.filter(
        (one) => !told.has(one) && one.triggers.some((trigger) => words.includes(trigger)),
      );
      for (const one of called) told.add(one);
      return called.map(({ name, text }) => section(`${microagentsFolder}/${name}`, text));
    },
  };
}
