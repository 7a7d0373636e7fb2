// Examples of an upload's response, for the API docs.
import type { Upload } from './schema.ts';

export const uploadExample: Upload = {
  files: [{ name: 'report.pdf', path: '/workspace/report.pdf' }],
  skipped: [],
  staged: false,
};
