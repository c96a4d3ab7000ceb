"""`alita tools`, `alita packages` and `alita policy`: the library of tools, and what its tools may use."""
