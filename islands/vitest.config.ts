import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "jsdom",
    setupFiles: "test/setup.ts",
    testTimeout: 15_000,
    restoreMocks: true,
    unstubGlobals: true,
  },
});
