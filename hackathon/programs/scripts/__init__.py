"""Job scripts that people wrote: what a scheduler makes of them, and the same in the words of another one."""
