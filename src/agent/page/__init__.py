"""`alita web`: alita in a browser. The page shows `Alita`'s events and makes no decisions of its own."""
