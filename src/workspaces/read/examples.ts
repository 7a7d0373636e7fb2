// Examples of a workspace's answers, for the reference.
import type { GitChange, GitDiff, SelectedFile, WorkspaceMicroagents } from './schema.ts';

export const changesExample: GitChange[] = [
  { status: 'M', path: 'src/server.ts' },
  { status: 'A', path: 'test/health.test.ts' },
];

export const diffExample: GitDiff = {
  modified: "export const port = Number(process.env['PORT'] ?? 3000);\n",
  original: 'export const port = 3000;\n',
};

export const filesExample: string[] = ['src/', 'test/', 'README.md'];

export const fileExample: SelectedFile = { code: '# Shop\n' };

export const microagentsExample: WorkspaceMicroagents = {
  microagents: [
    {
      name: 'testing',
      type: 'knowledge',
      content: 'Run `npm test`.',
      triggers: ['test'],
      inputs: [],
      tools: [],
    },
  ],
};
