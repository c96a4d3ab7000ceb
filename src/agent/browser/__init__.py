"""The browser, in a process of its own: a strong model drives it through browser-use, a weak one as our specialist."""
