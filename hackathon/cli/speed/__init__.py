"""Commands that find where time goes, make one process faster, and look ahead: predictions and plans."""
