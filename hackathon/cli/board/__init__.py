"""Commands of the board: ask, board, standup, notify."""
