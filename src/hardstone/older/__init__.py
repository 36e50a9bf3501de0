"""Converts documents and streams of earlier versions.

old_loads: degrees of a load. old_storm: the mix before it had messages. old_events: names and
figures that were in texts only. old_results: everything in one result. Pure; used by the readers
of the store and of a stream.
"""
