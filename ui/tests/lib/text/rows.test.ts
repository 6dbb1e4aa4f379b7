import { expect, test } from "vitest";

import { csv } from "../../../src/lib/text/rows";

test("CSV has texts as recorded, like the command line", () => {
  const names = ["=1+1", "@SUM(A1)", "+1", "-1", "a,b", 'a"b', "a\nb"];
  const text = csv(
    ["name"],
    names.map((name) => [name]),
  );
  expect(text).toBe('name\n=1+1\n@SUM(A1)\n+1\n-1\n"a,b"\n"a""b"\n"a\nb"\n');
});

test("a missing value is an empty field", () => {
  expect(csv(["a", "b"], [[null, 0]])).toBe("a,b\n,0\n");
});
