import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { thirdPartyNotices } from "./notices.ts";

const api = process.env.MOOT_API ?? "http://127.0.0.1:8642";

export default defineConfig({
  plugins: [react(), thirdPartyNotices()],
  build: {
    outDir: fileURLToPath(new URL("../src/moot/web/static", import.meta.url)),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: {
    port: 5173,
    proxy: { "/api": { target: api, changeOrigin: false } },
  },
  test: { environment: "node", include: ["src/**/*.test.{ts,tsx}"] },
});
