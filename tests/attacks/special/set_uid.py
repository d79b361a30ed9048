# Runs a set-uid program of the host's root that the policy shows.
import json
import subprocess

output = subprocess.run(["/canary/id", "-u"], capture_output=True, text=True)
print(json.dumps({"probe": "effective user of a set-uid program", "saw": output.stdout.strip() or output.stderr}))
