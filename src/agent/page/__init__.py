"""`alita web`: alita in a browser. It calls `Alita` and shows its events, and decides nothing itself."""
