"""An emulator of the Kubernetes API for tests: the verbs that the toolkit calls (501 for others), pods as processes.

It is not a cluster: no admission, no scheduler, no images, no network. What it says of objects follows the API's pages.
"""
