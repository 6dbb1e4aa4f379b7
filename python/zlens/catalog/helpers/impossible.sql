-- _impossible: the rows of `problem` about values that cannot be, which roles withhold: one part for each role with bounds.
{impossible_rows}
