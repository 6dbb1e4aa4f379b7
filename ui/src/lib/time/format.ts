/** Times as text. */

import { formatQuantity } from "../text/numbers";

const two = (value: number): string => String(value).padStart(2, "0");

/** 2010-03-09 08:30:00 in a zone `offset` seconds east of UTC. */
export function dateTime(epoch: number, offset: number): string {
  const date = new Date((epoch + offset) * 1000);
  const day = `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
  return `${day} ${clock(epoch, offset)}`;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** Tue 2010-03-09. */
export function dayName(epoch: number, offset: number): string {
  const weekday = WEEKDAYS[new Date((epoch + offset) * 1000).getUTCDay()];
  return `${weekday} ${dateTime(epoch, offset).slice(0, 10)}`;
}

/** The time of a text such as 2010-03-09 08:30 or 2010-03-09 08:30:00, in 24-hour form; null for others. */
export function momentOf(text: string, offset: number): number | null {
  const match = /^\s*(\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?\s*$/.exec(text);
  if (!match) return null;
  const [, day, hours, minutes, rest = "00"] = match;
  const value = Date.parse(`${day}T${hours}:${minutes}:${rest}Z`) / 1000 - offset;
  return Number.isFinite(value) ? value : null;
}

export function clock(epoch: number, offset: number): string {
  const date = new Date((epoch + offset) * 1000);
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
}

/** 2010-03-09 08:30:00 to 09:30:00; the end has a date of its own if it is on another day. */
export function timeRange(from: number, to: number, offset: number): string {
  const [start, end] = [dateTime(from, offset), dateTime(to, offset)];
  return `${start} to ${start.slice(0, 10) === end.slice(0, 10) ? end.slice(11) : end}`;
}

/**
 * The label of a time tick: the time of day, with the date over long windows, or the date alone at midnight;
 * dates have years if the window is in several, and the first day of a month is that month over many months.
 */
export function tickLabel(t: number, from: number, to: number, offset: number): string {
  const date = (moment: number): string => dateTime(moment, offset).slice(0, 10);
  const day = date(t).slice(date(from).slice(0, 4) === date(to).slice(0, 4) ? 5 : 0);
  const time = clock(t, offset);
  if (to - from > 200 * 86400 && time === "00:00:00" && day.endsWith("-01")) return date(t).slice(0, 7);
  if (time === "00:00:00") return day;
  if (to - from > 86400 * 1.5) return `${day} ${time.slice(0, 5)}`;
  return to - from < 600 ? time : time.slice(0, 5);
}

/** UTC, UTC+02:00, UTC-03:30. */
export function zone(offset: number): string {
  if (offset === 0) return "UTC";
  const minutes = Math.round(Math.abs(offset) / 60);
  return `UTC${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** 90 s, 15 min, 24 h. */
export function duration(seconds: number): string {
  const units: [number, string][] = [
    [86400, "days"],
    [3600, "h"],
    [60, "min"],
  ];
  const [size, unit] = units.find(([size]) => seconds >= 2 * size) ?? [1, "s"];
  return formatQuantity(Number((seconds / size).toPrecision(3)), unit);
}

export function seconds(iso: string | null): number | null {
  if (iso === null) return null;
  const value = Date.parse(iso) / 1000;
  return Number.isFinite(value) ? value : null;
}
