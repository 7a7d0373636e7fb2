// The interface of a tool: how the model sees it, how people see a call, and what it does.
import type { ToolKind } from '@agentclientprotocol/sdk';
import type { Static, TObject } from 'typebox';
import { compileCheck } from '../../../validation/validation.ts';

export interface FileChange {
  /** An absolute path. */
  readonly path: string;
  /** Null if the file did not exist. */
  readonly oldText: string | null;
  readonly newText: string;
}

export interface ToolImage {
  readonly mimeType: string;
  /** In base64. */
  readonly data: string;
}

export interface ToolResult {
  /** The text for the model. After a failure, it says what to do instead. */
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

/** The context of one call. */
export interface ToolUse {
  /** The workspace, which relative paths refer to. */
  readonly cwd: string;
  /** The resolved path in the approval request; null if there was none that could be resolved. */
  readonly approvedPath?: string | null;
  /** A folder, named without links, that no path may lead out of. Only tools that read and search heed it. */
  readonly within?: string;
  /** Aborted when the user stops the turn. Everything that was started must end then. */
  readonly signal: AbortSignal;
  /** Receives the whole output so far, for the user. May be called often. */
  onOutput(text: string): void;
}

export interface Tool<Input = never> {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. */
  readonly input: object;
  /** Returns what is wrong with the input, or undefined. Called before anything else. */
  check(input: unknown): string | undefined;
  /** Determines the risk in approval requests. */
  readonly kind: ToolKind;
  /** Whether calls may run at the same time as others of this type, because they only read. */
  readonly isParallel?: boolean;
  /** A short line for people. `path` shows the file if a link leads there. */
  title(input: Input, path?: string): string;
  /** Returns the file that the call concerns. */
  path?(input: Input): string;
  /** Returns the file that the call would open, for the approval request. Null if there is none; never throws. */
  resolve?(input: Input, use: ToolUse): Promise<ResolvedPath | null>;
  /** Returns the change that the call would make, for the approval request. Undefined if it is unknown; never throws. */
  preview?(input: Input, use: ToolUse): Promise<FileChange | undefined>;
  /** Failures are results. An error that it throws is a bug. */
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
