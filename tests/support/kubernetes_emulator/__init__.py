"""An emulator of the Kubernetes API for tests: the verbs that the toolkit calls, and pods that are processes here.

It is not a cluster: no admission, no scheduler, no images, no network policies. What it says of objects follows the API's
documents; what it does not know it refuses with 501.
"""
