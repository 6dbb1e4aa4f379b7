import { describe, expect, it } from "vitest";
import { momentOf, tickLabel, timeRange } from "../../../src/lib/time/format";

const NOON = Date.parse("2024-05-14T12:00:00Z") / 1000;

describe("the labels of a time axis", () => {
  it("are times of day within one day", () => {
    expect(tickLabel(NOON, NOON - 3600, NOON + 3600, 0)).toBe("12:00");
    expect(tickLabel(NOON + 15, NOON, NOON + 60, 7200)).toBe("14:00:15");
  });
  it("name the day at its start in the system's zone", () => {
    const midnight = NOON + 12 * 3600;
    expect(tickLabel(midnight, NOON, NOON + 86400, 0)).toBe("05-15");
    expect(tickLabel(midnight - 7200, NOON, NOON + 86400, 7200)).toBe("05-15");
    expect(tickLabel(midnight, NOON, NOON + 86400, 7200)).toBe("02:00");
  });
  it("have years if the range is in several", () => {
    const year = 366 * 86400;
    expect(tickLabel(Date.parse("2025-01-01T00:00:00Z") / 1000, NOON, NOON + year, 0)).toBe("2025-01");
    expect(tickLabel(Date.parse("2025-01-02T00:00:00Z") / 1000, NOON, NOON + year, 0)).toBe("2025-01-02");
    expect(tickLabel(NOON + 43200, NOON, NOON + 40 * 86400, 0)).toBe("05-15");
  });
  it("name every day of longer ranges", () => {
    expect(tickLabel(NOON, NOON, NOON + 3 * 86400, 0)).toBe("05-14 12:00");
  });
});

describe("a range of times", () => {
  it("names the day of its start, and that of its end if it is another one", () => {
    expect(timeRange(NOON, NOON + 3600, 0)).toBe("2024-05-14 12:00:00 to 13:00:00");
    expect(timeRange(NOON, NOON + 3600, 41400)).toBe("2024-05-14 23:30:00 to 2024-05-15 00:30:00");
  });
});

describe("typed times", () => {
  it("are 24-hour times in the zone of the system", () => {
    expect(momentOf("2024-05-14 14:00", 7200)).toBe(NOON);
    expect(momentOf(" 2024-05-14T14:00:05 ", 7200)).toBe(NOON + 5);
  });
  it("in other formats are rejected", () => {
    for (const text of ["", "2:00 PM", "2024-05-14", "2024-05-14 25:00", "05/14/2024 02:00 PM"])
      expect(momentOf(text, 0)).toBeNull();
  });
});
