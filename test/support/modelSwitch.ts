// Several scripted models behind one address: which of them answers is told by a word in what it is sent.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Step } from '../../src/agents/trial/scriptedModel/script.ts';
import { createScriptedModel, type ScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** By the word that stands for each; no word may be a part of another. */
export function createModelSwitch(scripts: Readonly<Record<string, readonly Step[]>>) {
  const models = new Map(
    Object.entries(scripts).map(([word, script]) => [word, createScriptedModel(script)]),
  );
  const handle: ScriptedModel['handle'] = async (request, response, path) => {
    const body = await readAll(request);
    const [, model] = [...models].find(([word]) => body.includes(word)) ?? [];
    const again = Object.assign(Readable.from([body]), { method: request.method });
    model?.handle(again as unknown as IncomingMessage, response, path);
  };
  return {
    handle,
    exchanges: [],
    of: (word: string) => models.get(word) as ScriptedModel,
  };
}
