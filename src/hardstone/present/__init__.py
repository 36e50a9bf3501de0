"""A run document as plain values for display. Terminal and page only lay them out.

Pure. overview: the summary that comes first. headline: machine and conditions. claims and
key_figures: results in words. notices: deviations from the request, and notes. caveats: banners
above all figures. load_table, quantile_text, wording: figures as text. reproduce: commands that
repeat the run. Some modules load numpy, so import only the one that is needed.
"""
