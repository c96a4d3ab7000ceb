"""The Model protocol and who fulfils it: hosted, embedded, scripted; prices, fallback."""
