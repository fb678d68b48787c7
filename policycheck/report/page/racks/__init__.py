"""Racks with the gangs on them: what is drawn (scene), where (strip, layout, legend), and the drawing."""
