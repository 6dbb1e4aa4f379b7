import { describe, expect, it } from "vitest";
import { linesOf } from "../../../src/lib/api/api";

const sent = (text: string, size: number): ReadableStream<Uint8Array> => {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
};

describe("lines of a response", () => {
  it.each([1, 3, 7, 1000])("are parsed from chunks of %i bytes", async (size) => {
    const lines: unknown[] = [];
    for await (const line of linesOf(sent('{"a":"ä€"}\n{"b":[1,2]}\n', size))) lines.push(line);
    expect(lines).toEqual([{ a: "ä€" }, { b: [1, 2] }]);
  });

  it("arrive one at a time", async () => {
    let more: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (more = controller) });
    const lines = linesOf<{ n: number }>(body);
    more!.enqueue(new TextEncoder().encode('{"n":1}\n{"n"'));
    expect((await lines.next()).value).toEqual({ n: 1 });
    more!.enqueue(new TextEncoder().encode(":2}\n"));
    expect((await lines.next()).value).toEqual({ n: 2 });
    more!.close();
    expect((await lines.next()).done).toBe(true);
  });
});
