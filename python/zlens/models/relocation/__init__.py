"""Live guest relocation: relocation time and quiesce time."""
