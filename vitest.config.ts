import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['./test/support/servers-setup.ts'],
    reporters: ['default', './scripts/tally.mjs'],
    testTimeout: 60_000,
    coverage: { include: ['src/**/*.ts'], exclude: ['src/**/*.test.ts'] },
  },
})
