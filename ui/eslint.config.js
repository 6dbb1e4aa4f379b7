import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default ts.config(
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser } } },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
  },
  {
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      // TypeScript knows the names.
      "no-undef": "off",
      // The page has one document and an address behind a #: there is no path to resolve.
      "svelte/no-navigation-without-resolve": "off",
      // What is followed is replaced as a whole ($state.raw), never changed in place.
      "svelte/prefer-svelte-reactivity": "off",
    },
  },
  { ignores: ["node_modules/"] },
);
