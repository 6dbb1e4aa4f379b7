/** While a view is exported, tables render all of their rows. */

export const exportMode = $state({ on: false });

/** The maximum number of rows per table in an exported view. */
export const SAVED_ROWS = 5000;
