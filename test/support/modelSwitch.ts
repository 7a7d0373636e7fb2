// Several scripted models at one URL. A keyword in the request selects the model.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Step } from '../../src/agents/trial/scriptedModel/script.ts';
import { createScriptedModel, type ScriptedModel } from '../../src/agents/trial/scriptedModel/server.ts';

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Scripts by keyword; no keyword may be part of another. */
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
