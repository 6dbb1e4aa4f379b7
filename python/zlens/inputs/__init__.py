"""What an input is, whatever reader it is read by: sources, systems, intervals, options, problems."""
