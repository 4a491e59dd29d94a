import os

from conclave_client import Client

client = Client(os.environ.get("CONCLAVE_AGENT", "http://127.0.0.1:7480"))
for event in client.watch():
    print(event.type, flush=True)
