// Gemini's generateContent and streamGenerateContent.
import type { Answer } from './script.ts';
import { type Json, type ModelProtocol, objects, piecesOf, scriptedUsage, textOf } from './wire.ts';

const ended = {
  finish: { finishReason: 'STOP' },
  usage: {
    usageMetadata: {
      promptTokenCount: scriptedUsage.input,
      candidatesTokenCount: scriptedUsage.output,
      totalTokenCount: scriptedUsage.input + scriptedUsage.output,
    },
  },
};

function bodyOf(answer: Answer, model: string, isLast = true): Json {
  const part =
    answer.call === undefined
      ? { text: answer.text }
      : { functionCall: { id: answer.call.id, name: answer.call.name, args: answer.call.input } };
  return {
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, ...(isLast ? ended.finish : {}) }],
    ...(isLast ? ended.usage : {}),
    modelVersion: model,
    responseId: 'scripted',
  };
}

function partsOf(content: unknown): Json[] {
  return objects((content as Json | undefined)?.['parts']);
}

export const gemini: ModelProtocol = {
  path: /:(generateContent|streamGenerateContent)$/,
  read: ({ tools, contents, systemInstruction }, path) => {
    const all = objects(contents);
    const byModel = ({ role }: Json) => role === 'model';
    const byUser = all.filter((content) => !byModel(content));
    return {
      model: decodeURIComponent(/\/models\/(.+):\w+$/.exec(path)?.[1] ?? ''),
      stream: path.endsWith(':streamGenerateContent'),
      tools: objects(tools)
        .flatMap(({ functionDeclarations }) => objects(functionDeclarations))
        .map(({ name, parameters, parametersJsonSchema }) => ({
          name: String(name),
          schema: parametersJsonSchema ?? parameters,
        })),
      results: byUser
        .flatMap(partsOf)
        .filter(({ functionResponse }) => functionResponse !== undefined)
        .map(({ functionResponse }) => JSON.stringify((functionResponse as Json)['response'])),
      said: all.filter(byModel).map((content) => textOf(partsOf(content))),
      prompt: [systemInstruction, ...byUser].map((content) => textOf(partsOf(content))).join('\n'),
    };
  },
  whole: (answer, model) => bodyOf(answer, model),
  parts: (answer, model) => {
    if (answer.call !== undefined) return [{ data: bodyOf(answer, model) }];
    const pieces = piecesOf(answer.text);
    return pieces.map((text, i) => ({ data: bodyOf({ text }, model, i === pieces.length - 1) }));
  },
};
