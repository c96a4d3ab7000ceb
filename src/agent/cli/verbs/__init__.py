"""The commands of `alita`, one file for each (`runs` has sessions, stats, cache and traces, `config` has keys)."""
