"""One Vega-Lite figure each, as plain data: histogram, exceedance, over_time, bars."""
