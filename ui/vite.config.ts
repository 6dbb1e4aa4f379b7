import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// Fixed names: the bundle is committed, and a name with a hash would make every change a new file.
export default defineConfig({
  plugins: [svelte()],
  // A proxy may serve the page below a path.
  base: "./",
  build: {
    outDir: "../python/zlens/server/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    license: { fileName: "licenses.txt" },
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        chunkFileNames: "[name].js",
        assetFileNames: (asset) => (asset.names[0]?.endsWith(".css") ? "app.css" : "[name][extname]"),
      },
    },
  },
  // `npm run dev` beside a `zlens serve`.
  // With the Host the browser sent: zlens refuses a request whose Origin is another one.
  server: {
    proxy: { "/api": { target: process.env["ZLENS_API"] ?? "http://127.0.0.1:8017", changeOrigin: false } },
  },
  resolve: { conditions: ["browser"] },
  test: { include: ["tests/**/*.test.ts"] },
});
