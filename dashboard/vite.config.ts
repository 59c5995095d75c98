import { defineConfig } from "vite";

// Configures the files that `make` puts into the server's jar. All of them come from the server: the page contacts no
// other host.
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
  // Proxies requests to `bin/tapline server` during development with `npm run dev`.
  server: { proxy: { "/api": "http://127.0.0.1:8480" } },
});
