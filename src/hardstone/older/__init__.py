"""What documents and streams of earlier versions say otherwise than those of today.

loads: degrees of a load. events: names and figures that stood in texts only. results: all
that concerns one result. Pure; readers of the store and of a stream use it.
"""
