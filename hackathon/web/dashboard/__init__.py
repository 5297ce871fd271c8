"""The live dashboard: server, event stream, who may connect."""
