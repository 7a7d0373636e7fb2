// Uses of the built-in agent's tools, as its loop makes them: the input has passed the tool's schema.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Value } from 'typebox/value';
import type {
  FileChange,
  ResolvedPath,
  Tool,
  ToolResult,
  ToolUse,
} from '../../src/agents/builtin/tools/tool.ts';

export interface ToolBench {
  readonly cwd: string;
  /** What `onOutput` was told, in order. */
  readonly shown: string[];
  run(name: string, input: object, signal?: AbortSignal, more?: Partial<ToolUse>): Promise<ToolResult>;
  /** What an approval request would name. */
  resolve(name: string, input: object): Promise<ResolvedPath | null | undefined>;
  preview(name: string, input: object): Promise<FileChange | undefined>;
}

export function toolNamed(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((one) => one.name === name);
  assert.ok(tool !== undefined, `no tool ${name}`);
  return tool;
}

/** A workspace of its own, which goes with the test, and tools to use in it. */
export function openBench(t: TestContext, tools: readonly Tool[]): ToolBench {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'parley-tools-')));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const shown: string[] = [];
  const use = (signal = new AbortController().signal) => ({
    cwd,
    signal,
    onOutput: (text: string) => void shown.push(text),
  });

  function checked(name: string, input: object) {
    const tool = toolNamed(tools, name);
    assert.ok(Value.Check(tool.input, input), `no input of ${name}`);
    return { tool, input: input as never };
  }

  return {
    cwd,
    shown,
    run: (name, given, signal, more = {}) => {
      const { tool, input } = checked(name, given);
      return tool.run(input, { ...use(signal), ...more });
    },
    resolve: async (name, given) => {
      const { tool, input } = checked(name, given);
      return tool.resolve?.(input, use());
    },
    preview: async (name, given) => {
      const { tool, input } = checked(name, given);
      return tool.preview?.(input, use());
    },
  };
}
