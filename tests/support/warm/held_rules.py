"""Read the shipped rules and make their scanner when the server imports this: every test has an empty cache.

To read 325 rules from YAML costs a second. What is held is asked for by the files' bytes, so that a command that finds
other rules does not use it.
"""

from hackathon.config.rule_files import load_rules
from hackathon.diagnosis.scan import rule_set

rule_set(load_rules()[0]).scanner.scan_text("")
