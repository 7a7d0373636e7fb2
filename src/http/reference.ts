// The reference page: static HTML from the OpenAPI document, no script, nothing from elsewhere.
import type { OpenApi } from './openapi.ts';

export const referenceStyle = 'body{font-family:sans-serif}';

export function renderReference(openapi: OpenApi): string {
  return `<!doctype html><meta charset="utf-8"><title>${openapi.info.title}</title><style>${referenceStyle}</style>`;
}
