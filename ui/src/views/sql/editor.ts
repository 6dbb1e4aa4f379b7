/** The editor of queries, loaded when the SQL view opens, because it is as large as all views in total. */

import {
  acceptCompletion,
  autocompletion,
  completionKeymap,
  closeCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { keywordCompletionSource, PostgreSQL, sql, SQLDialect } from "@codemirror/lang-sql";
import { syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap, placeholder } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { completions, wordBefore } from "./complete";
import { inserted, type Tables } from "./console";

export interface Editor {
  /** Replaces the text, unless it is the same. */
  write: (text: string) => void;
  /** Replaces the selection, and moves the cursor after it. */
  insert: (words: string) => void;
  destroy: () => void;
}

interface Wanted {
  host: HTMLElement;
  text: string;
  label: string;
  hint: string;
  schema: () => Tables;
  changed: (text: string) => void;
  run: () => void;
}

export function editor({ host, text, label, hint, schema, changed, run }: Wanted): Editor {
  // Tab inserts spaces only after typing, so that it still moves the focus.
  let typing = false;
  // Some tables have the names of SQL keywords.
  const tables = new Set(schema().tables.map((table) => table.name));
  const without = (words = ""): string =>
    words
      .split(" ")
      .filter((word) => !tables.has(word))
      .join(" ");
  const { spec } = PostgreSQL;
  const dialect = SQLDialect.define({
    ...spec,
    keywords: without(spec.keywords),
    types: without(spec.types),
  });
  const names: Extension = autocompletion({
    icons: false,
    override: [
      (context) => {
        const word = wordBefore(context.state.sliceDoc(0, context.pos));
        if (!word && !context.explicit) return null;
        const { from, options } = completions(context.state.doc.toString(), context.pos, schema());
        return options.length ? { from, options, validFor: /^\w*$/ } : null;
      },
      keywordCompletionSource(dialect, true),
    ],
  });
  const view = new EditorView({
    parent: host,
    state: EditorState.create({
      doc: text,
      extensions: [
        history(),
        drawSelection(),
        names,
        sql({ dialect }),
        syntaxHighlighting(classHighlighter),
        EditorView.lineWrapping,
        placeholder(hint),
        EditorView.contentAttributes.of({ id: "query", "aria-label": label, spellcheck: "false" }),
        keymap.of([
          { key: "Mod-Enter", run: (view) => (closeCompletion(view), run(), true) },
          {
            key: "Tab",
            run: (view) => {
              if (acceptCompletion(view)) return true;
              if (typing) view.dispatch(view.state.replaceSelection("  "));
              return typing;
            },
          },
          { key: "Escape", run: () => (typing = false) },
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap.filter((binding) => binding.key !== "Mod-Enter"),
        ]),
        EditorView.domEventHandlers({
          input: () => void (typing = true),
          blur: () => void (typing = false),
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    write: (text) => {
      const { doc } = view.state;
      if (doc.toString() !== text) view.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
    },
    insert: (words) => {
      const { from, to } = view.state.selection.main;
      const next = inserted(view.state.doc.toString(), from, to, words);
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: next.text },
        selection: { anchor: next.at },
      });
      typing = true;
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
