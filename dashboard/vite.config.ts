import { defineConfig } from "vite";

// What `make` puts into the server's jar. Everything comes from the server itself: no host but it is ever asked.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../build/dashboard",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  worker: { format: "es" },
  // While the page is being worked on: `npm run dev` beside `bin/tapline server`.
  server: { proxy: { "/api": "http://127.0.0.1:8480" } },
});
