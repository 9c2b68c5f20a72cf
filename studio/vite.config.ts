import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.STUDIO_SERVER ?? "http://127.0.0.1:8765";

/** The message catalog, which the command line uses too. */
const MESSAGES = `${import.meta.dirname}/../src/skills_runtime/messages`;

/** Groups what changes rarely, so that a new version of the app is a small download. */
function chunkOf(id: string): string | undefined {
  if (!id.includes("node_modules")) {
    return undefined;
  }
  if (/node_modules\/(react|react-dom|scheduler)\//.test(id)) {
    return "react";
  }
  if (/node_modules\/(marked|dompurify)\//.test(id)) {
    return "markdown";
  }
  return undefined;
}

export default defineConfig(({ command }) => ({
  // The page names its base itself, so that the built app works below any path.
  base: command === "build" ? "./" : "/studio/",
  plugins: [react(), tailwindcss()],
  build: {
    outDir: process.env.STUDIO_OUT ?? "../src/skills_runtime/studio_dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: { output: { manualChunks: chunkOf } },
  },
  resolve: { alias: { "@messages": MESSAGES } },
  server: {
    fs: { allow: [".", MESSAGES] },
    proxy: {
      "/api": { target: server, changeOrigin: true, headers: proxyHeaders() },
    },
  },
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    isolate: false,
    testTimeout: 60_000,
  },
}));

/** While developing, the token of the server comes from the environment. */
function proxyHeaders(): Record<string, string> {
  const token = process.env.STUDIO_TOKEN;
  return { origin: server, ...(token ? { authorization: `Bearer ${token}` } : {}) };
}
