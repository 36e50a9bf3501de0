"""The static picture of common charts, drawn from their Vega-Lite specification without Vega."""
