// Builds the web UI, and serves it during development (`npm run dev:web` beside a running service).
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The proxy keeps the Host header, so that the service accepts the requests as same-origin. */
const service = { target: process.env['PARLEY_URL'] ?? 'http://127.0.0.1:3000' };

/** Everything is in one file; test/web/size.test.ts limits its compressed size. */
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
    reportCompressedSize: false,
    chunkSizeWarningLimit: chunkKb,
  },
});
