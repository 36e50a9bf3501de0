"""What documents and streams of earlier versions say otherwise than those of today.

old_loads: degrees of a load. old_events: names and figures that stood in texts only.
old_results: all that concerns one result. Pure; readers of the store and of a stream use it.
"""
