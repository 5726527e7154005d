"""What must hold between the integers of a network, with proven bounds. It knows no proof system.

``relation``: tensors and the relations between them; ``bounds``: how far integers reach, what proves it, and
what room a field has; ``functions``: what lookups look up; ``planes``: windows that slide; ``integers``.
"""
