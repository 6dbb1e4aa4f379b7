/** A response of the server with these columns and rows. */

import type { AggregateAnswer } from "../../../src/lib/api/types";

export const answered = (columns: string[], rows: AggregateAnswer["rows"]): AggregateAnswer => ({
  columns,
  rows,
  units: {},
  bucket_s: 0,
  wholes: {},
  top: null,
  sql: "",
  more: false,
});
