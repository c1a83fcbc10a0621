"""Reports by people that an agent's reply was wrong, and their outcome; agents never read them."""
