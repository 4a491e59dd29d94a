import os

from conclave_client import Client

client = Client(os.environ.get("CONCLAVE_AGENT", "http://127.0.0.1:7480"))
known = client.leader()
if known.leader is None:
    print("there is no leader")
else:
    print(f"{known.leader.id} leads with token {known.leader.token}")
