"""Commands that analyse step time, speed up one process, and look ahead: predictions and plans."""
