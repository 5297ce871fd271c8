"""Stand-ins of container programs: each knows the options of its manual, and refuses every other one.

They show a program what the real one would: its environment by the tool's rules, its working folder, an image's `PATH`.
Every folder to bind must exist. What they were given goes, as a line of JSON, into the file `$CONTAINER_STUB`.
"""
