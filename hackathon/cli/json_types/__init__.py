"""The JSON of `--json` as types: `hackathon schema --json-of COMMAND` makes its schemas of them."""
