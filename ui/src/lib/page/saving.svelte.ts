/** While a view is saved every table draws all of its rows, not only those in sight. */

export const saving = $state({ on: false });

/** Rows of a table that a saved view holds at most; a table says how many more there are. */
export const SAVED_ROWS = 5000;
