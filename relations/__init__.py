"""What must hold between the integers of a network, with proven bounds: it knows no proof system."""
