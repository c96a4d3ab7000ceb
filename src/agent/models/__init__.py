"""The Model protocol and its implementations (hosted, embedded, scripted), with prices and fallbacks."""
