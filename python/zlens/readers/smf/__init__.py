"""SMF dumps of z/OS."""
