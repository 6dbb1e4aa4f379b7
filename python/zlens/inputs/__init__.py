"""The parts of an input, independent of its reader: sources, systems, intervals, options, problems."""
