import { defineConfig } from "vitest/config";

// Limits are for machines that do much else at the same time.
export default defineConfig({ test: { testTimeout: 180_000, hookTimeout: 240_000, bail: 1 } });
