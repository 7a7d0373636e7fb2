// How the page is built, and served while somebody works on it: `npm run dev:web` beside a running service.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The host stays that of the page, so that the service takes it for its own. */
const service = { target: process.env['PARLEY_URL'] ?? 'http://127.0.0.1:3000' };

/** All of it is one file; test/web/size.test.ts bounds what goes over the wire. */
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
    // Under the policy of the page nothing may stand inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: chunkKb,
  },
});
