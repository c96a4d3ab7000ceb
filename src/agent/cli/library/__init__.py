"""`alita tools`."""
