import { defineConfig } from "vitest/config";

// The time limits suit busy machines.
export default defineConfig({ test: { testTimeout: 180_000, hookTimeout: 240_000, bail: 1 } });
