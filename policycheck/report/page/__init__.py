"""Pictures and pages: charts by altair, made into SVG, PNG or one HTML file by vl-convert.

Both come with the extra ``html`` and load when the first picture is made; what is drawn where is
worked out in plain Python and can be tested without them. A page is one file: its scripts and styles
are inside it, and its Content-Security-Policy forbids it every connection. Nothing here knows which
system decided what it shows.
"""
