"""`alita tools`, `alita packages` and `alita policy`."""
