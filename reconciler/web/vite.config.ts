// Builds the page: static files with hashed names below dist/web, nothing inlined (the content security policy forbids it).
import { defineConfig } from 'vite';

/** Where `npm run page` serves the controller's API for the development server. */
const api = process.env['GANTRY_CONTROLLER'] ?? 'http://127.0.0.1:8440';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  cacheDir: '../../node_modules/.cache/gantry/vite',
  build: {
    outDir: '../../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
  },
  server: { proxy: { '/api': { target: api, ws: true }, '/auth': api } },
});
