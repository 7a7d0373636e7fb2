// Builds the web UI, and serves it during development (`npm run dev:web` beside a running service).
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The proxy keeps the Host header, so that the service accepts the requests as same-origin. */
const service = { target: process.env['PARLEY_URL'] ?? 'http://127.0.0.1:3000' };

/** All screens are in one file; test/web/size.test.ts limits its compressed size. Only languages for highlighting are apart. */
const chunkKb = 1_000;

export default defineConfig({
  plugins: [react()],
  server: {
    proxy: {
      '/api': service,
      '/docs': service,
      '/openapi.json': service,
      '/server_info': service,
      '/ready': service,
    },
  },
  build: {
    target: 'es2023',
    // The content security policy forbids inline assets.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What loads other chunks is in a chunk of its own. The languages then import nothing of the entry, and keep their
        // names when it changes: a tab that is open during an upgrade still finds them.
        codeSplitting: { groups: [{ name: 'loader', test: /vite\/preload-helper|rolldown\/runtime/ }] },
      },
    },
    reportCompressedSize: false,
    chunkSizeWarningLimit: chunkKb,
  },
});
