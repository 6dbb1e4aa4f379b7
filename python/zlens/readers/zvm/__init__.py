"""z/VM monitor data: MONWRITE files and captures of /dev/monreader."""
