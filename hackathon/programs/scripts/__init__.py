"""Job scripts written by people: how a scheduler reads them, and their conversion to another scheduler."""
