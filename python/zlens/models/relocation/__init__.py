"""Live guest relocation: how long it takes, and how long the guest stands still."""
