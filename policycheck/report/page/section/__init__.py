"""The parts of a simulation's page. Each is a function of the View that gives a Section, or None when
there is nothing to say.
"""
