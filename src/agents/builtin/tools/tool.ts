// What a tool is to the agent: how the model learns of it, how people see a use of it, and what it does.
import type { ToolKind } from '@agentclientprotocol/sdk';
import type { Static, TObject } from 'typebox';
import { compileCheck } from '../../../validation/validation.ts';

export interface FileChange {
  /** Absolute. */
  readonly path: string;
  /** Null: it was not there. */
  readonly oldText: string | null;
  readonly newText: string;
}

export interface ToolImage {
  readonly mimeType: string;
  /** In base64. */
  readonly data: string;
}

export interface ToolResult {
  /** For the model, which mends what it can: a failure says what to do instead. */
  readonly text: string;
  readonly failed?: boolean;
  readonly image?: ToolImage;
  readonly change?: FileChange;
  readonly exitCode?: number;
}

/** The file that a path leads to. */
export interface ResolvedPath {
  /** Without any links. */
  readonly path: string;
  /** Whether a link leads there from where the model named it. */
  readonly isLinked: boolean;
  /** Absolute, for people: `path` if a link leads there, otherwise as the model named it. */
  readonly named: string;
  /** For sentences, such as `notes.md → .git/hooks/pre-commit`. */
  readonly shown: string;
}

/** One use of a tool. */
export interface ToolUse {
  /** The workspace; paths that are not absolute are below it. */
  readonly cwd: string;
  /** The resolved path in the approval request; null if there was none that could be resolved. */
  readonly approvedPath?: string | null;
  /** Aborted when the user stops the turn: whatever was started must end. */
  readonly signal: AbortSignal;
  /** The output so far, for people who watch. May be called as often as there is more. */
  onOutput(text: string): void;
}

export interface Tool<Input = never> {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly input: object;
  /** What is wrong with an input, in words; undefined where nothing is. Called before all else is. */
  check(input: unknown): string | undefined;
  /** Decides the risk that is shown where a person is asked. */
  readonly kind: ToolKind;
  /** A short line for people. `path` shows the file if a link leads there. */
  title(input: Input, path?: string): string;
  /** The file that it is about. */
  path?(input: Input): string;
  /** The file that it would open, for the approval request. Null if there is none; never throws. */
  resolve?(input: Input, use: ToolUse): Promise<ResolvedPath | null>;
  /** What it would change, for the person who is asked. Undefined where that cannot be told; never throws. */
  preview?(input: Input, use: ToolUse): Promise<FileChange | undefined>;
  /** Fails by its result. What it throws is a bug. */
  run(input: Input, use: ToolUse): Promise<ToolResult>;
}

/** Ties the types of a tool's functions to its schema. */
export function defineTool<Schema extends TObject>(
  tool: Omit<Tool<Static<Schema>>, 'input' | 'check'> & { readonly input: Schema },
): Tool {
  const check = compileCheck(tool.input);
  return {
    ...tool,
    check: (input) =>
      check(input)
        ?.details?.map(({ path, message }) => `${path} ${message}`)
        .join('; '),
  };
}
