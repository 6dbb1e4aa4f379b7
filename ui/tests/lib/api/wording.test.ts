import { describe, expect, it } from "vitest";
import { ApiError } from "../../../src/lib/api/api";
import { pageWords } from "../../../src/lib/api/wording";

describe("words of the commands in the page", () => {
  it("name what is there to be clicked", () => {
    expect(pageWords("leave --only out to see all there is")).toBe(
      "empty the field beside only to see all there is",
    );
    expect(pageWords("--set abc asks nothing")).toBe("abc asks nothing");
    expect(pageWords("--set x=1 tries one; changed by --set: y=2")).toBe(
      "x=1 tries one; changed by a setting: y=2",
    );
    expect(pageWords("limits are not in these data; --set adds them")).toBe(
      "limits are not in these data; a setting adds them",
    );
  });
  it("leave alone what is said of commands that the page has no place for", () => {
    expect(pageWords("import both with --tz, or both without")).toBe(
      "import both with --tz, or both without",
    );
  });
  it("are those of every error", () => {
    const error = new ApiError(
      "--set abc asks nothing",
      "KEY=VALUE",
      "zlens plan --list shows what can be asked",
    );
    expect([error.message, error.expected]).toEqual(["abc asks nothing", "KEY=VALUE"]);
    expect(error.cure).toBe("the table of what-ifs shows what can be asked");
  });
});
