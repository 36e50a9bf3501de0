"""What a run document says, as plain values: terminal and page only lay it out.

Pure. overview: what a person sees first. headline: machine and conditions. claims and
key_figures: results in words. notices: deviations from the request, and notes. caveats: what
stands above all figures. load_table, quantile_text, wording: figures as text. reproduce: the
commands that do the same again. Import the module that is needed: some load numpy.
"""
