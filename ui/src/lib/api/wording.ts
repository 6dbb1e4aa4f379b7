/** Errors and notes speak to who types commands; in the page the same is done by hand. */

const CHANGES: [RegExp, string][] = [
  [/leave --only out to see all there is/g, "empty the field beside only to see all there is"],
  [
    /narrow the question with --system, --from and --to, or allow more with ulimit -n/g,
    "choose a shorter window",
  ],
  [/zlens plan --list shows each with an example/g, "the table of what-ifs shows each with an example"],
  [/zlens plan --list shows what can be asked/g, "the table of what-ifs shows what can be asked"],
  [
    /zlens explain (\S+) names what gives it/g,
    "the explanation of $1 (? beside it in SQL) names what gives it",
  ],
  [
    /zlens info tells from when to when its data are/g,
    "the strip above shows from when to when its data are",
  ],
  [/\badd --system\b/g, "choose a system"],
  [/\bSeveral --set\b/g, "Several settings"],
  [/\b(changed by|as of|what) --set\b/g, "$1 a setting"],
  // Before a verb it is what is spoken of; else it stands before what is set.
  [/--set (?=(?:adds|takes|says|tells|tries)\b)/g, "a setting "],
  [/--set (?=[\w.*<{[])/g, ""],
  [/--set\b/g, "a setting"],
];

/** A text of the commands as the page says it. */
export function pageWords(text: string): string {
  return CHANGES.reduce((now, [from, to]) => now.replace(from, to), text);
}
