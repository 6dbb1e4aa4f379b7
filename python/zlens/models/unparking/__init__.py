"""Which vertical cores z/VM parks and unparks."""
