"""How a run is shown on a terminal: lines that scroll up, and one live line below them."""
